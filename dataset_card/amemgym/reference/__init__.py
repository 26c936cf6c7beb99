"""The reference implementation's JSON, written and read."""
