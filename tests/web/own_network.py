"""Run by test_fetch in a network namespace: a page at a public address of this machine, and a trap on loopback.

Prints the local end of the server's socket (the client's peer), the TLS name, the Host header, the text, and whether
the trap was left alone.
"""

import socket
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from langgraph_recursive.nodes.effects import drive
from langgraph_recursive.nodes.parts.web import Fetcher, WebPolicy
from web_sites import Names, Seen, Site, client_context, says

PUBLIC = "93.184.216.34"


class At(Site):
    """A site at a given address."""

    def bind(self) -> socket.socket:
        return socket.create_server(self.at)

    at = ("127.0.0.1", 443)


class Public(At):
    at = (PUBLIC, 443)


def main() -> None:
    ends: list[str] = []

    def answer(seen: Seen, sock: socket.socket) -> None:
        ends.append("{}:{}".format(*sock.getsockname()))
        says()(seen, sock)

    page, trap = Public({"/": answer}, tls=True), At({"/": says(b"secret")}, tls=True)
    names = Names(one_example_com=[[PUBLIC], ["127.0.0.1"]])
    fetched = drive(Fetcher(WebPolicy(), resolver=names, tls=client_context()).fetch("https://one.example.com/"))
    (seen,) = page.seen
    print(*ends, seen.sni, seen.host, fetched.text, "touched" if trap.connections else "untouched")
    page.close()
    trap.close()


if __name__ == "__main__":
    main()
