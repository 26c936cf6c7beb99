"""State trajectory."""
