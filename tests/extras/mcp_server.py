"""A small MCP server with a memory: `python mcp_server.py` serves one over its standard streams, and tests one over HTTP.

Its tools are its own, as of any server: they want a user, and answer in a form of their own.
"""

import os
from pathlib import Path

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError


def memory_server() -> MCPServer:
    """A server to which nothing was told."""
    server = MCPServer("memory-of-the-tests")
    told: dict[str, list[str]] = {}

    @server.tool()
    def add_memory(user_id: str, text: str) -> str:
        if text == "fail":
            raise ToolError(f"the key {os.environ.get('MEMORY_KEY', '')} is not accepted")
        told.setdefault(user_id, []).append(text)
        if "NOISY" in os.environ:
            print("adding", text)
        return "added"

    @server.tool()
    def search_memory(user_id: str, query: str, limit: int) -> dict[str, list[dict[str, str]]]:
        return {"results": [{"memory": text} for text in told.get(user_id, [])[-limit:]]}

    @server.tool()
    def write(session: str, events: list[dict[str, str]]) -> str:
        told.setdefault(session, []).extend(event["text"] for event in events)
        return "written"

    @server.tool()
    def recall(session: str, query: str, tokens: int) -> list[str]:
        return told.get(session, [])

    return server


if __name__ == "__main__":
    with Path(os.environ["STARTED"]).open("a", encoding="utf-8") as log:
        log.write(f"{os.getpid()}\n")
    if "NOISY" in os.environ:
        print("The memory server starts.", flush=True)
    memory_server().run("stdio")
