"""The stage `audits`: decoys, recovery of items and guesses, and their rates over many users."""
