"""What turns a benchmark's stages into assets: runs them item by item, replaces failed items, writes snapshots."""
