"""The release folder: its files, manifest, version and verification."""
