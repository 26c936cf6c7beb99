"""What changed between two releases: rows, measurements, settings, files."""
