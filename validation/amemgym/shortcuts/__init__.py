"""Ways to answer without memory, and how far each gets; how much of a set a memory needs."""
