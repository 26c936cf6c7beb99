"""Memories that are services or MCP servers."""
