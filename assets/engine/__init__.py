"""A benchmark's stages as assets: run item by item, failed items replaced, snapshots written."""
