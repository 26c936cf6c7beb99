"""The quality report of every benchmark: its asset, its page, and the checks that block a release."""
