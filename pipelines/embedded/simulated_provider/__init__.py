"""Simulated provider."""
