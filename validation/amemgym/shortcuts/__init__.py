"""Ways to answer without memory, and how far each gets."""
