"""Data and results in other people's formats, one module each."""
