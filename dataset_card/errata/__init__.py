"""Corrections of single questions and users, applied while a release is written."""
