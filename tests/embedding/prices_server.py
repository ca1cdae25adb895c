"""A small MCP server that the tests start: it speaks on its standard input and output."""

from __future__ import annotations

import os

from mcp.server.fastmcp import FastMCP

server = FastMCP("prices", log_level="WARNING")


@server.tool()
def price(heating: str) -> str:
    """Look up what a way of heating a house costs."""
    prices = {"gas": "900 EUR", "wood": "700 EUR"}
    if heating not in prices:
        raise ValueError(f"no price for {heating}")
    return prices[heating]


@server.tool()
def crash() -> str:
    """End the server in the middle of a call."""
    os._exit(1)


if __name__ == "__main__":
    server.run()
