"""Memories that are services, MCP servers, or providers of another harness."""
