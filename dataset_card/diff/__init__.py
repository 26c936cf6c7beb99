"""The difference of two releases: rows, measurements, settings, files."""
