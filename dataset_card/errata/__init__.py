"""Errata."""
