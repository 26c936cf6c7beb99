"""User facts: what a user tells is corrected, ends, is forgotten, and other facts follow from it."""
