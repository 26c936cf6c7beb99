"""Comparing, ranking and showing finished runs."""
