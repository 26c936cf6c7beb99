"""Assistant."""
