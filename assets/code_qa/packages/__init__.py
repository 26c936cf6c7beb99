"""Packages that questions are about: read from files and parsed, never imported."""
