"""The memories that come with the project: those of the paper, and plain ones to compare with."""
