"""Session queries."""
