"""Expectations about the columns of released tables, and their validation."""
