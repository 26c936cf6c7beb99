"""A model of what a memory is worth: learned from the answers of runs, and held against floors that need no model."""
