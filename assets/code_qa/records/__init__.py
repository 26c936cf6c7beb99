"""The records of the stages of code questions."""
