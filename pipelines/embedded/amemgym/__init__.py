"""Amemgym."""
