"""The explorer of a table, served in a thread of a test."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import uvicorn

from webtable import WebTable
from webtable.explorer import Access, create_app
from webtable.testing import ListeningStore

TOKEN = "the-token"


@contextmanager
def explored(table: WebTable) -> Iterator[httpx.Client]:
    """Serve the explorer of *table*, and give a client that has the token."""
    config = uvicorn.Config(create_app(table, Access(TOKEN)), port=0, log_level="warning", timeout_graceful_shutdown=1)
    server, sock = uvicorn.Server(config), config.bind_socket()
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
    thread.start()
    try:
        address, headers = f"http://127.0.0.1:{sock.getsockname()[1]}", {"authorization": f"Bearer {TOKEN}"}
        with httpx.Client(base_url=address, headers=headers, timeout=30) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join()
        sock.close()


def begins(table: WebTable, path: str) -> bool:
    """Whether a page of *table* begins while its store does not answer, and ends once it does."""
    answers, asked = threading.Event(), time.monotonic()
    slow = WebTable(ListeningStore(table.store, lambda _: answers.wait(20)), table.table, table.layout)
    with explored(slow) as client, client.stream("GET", path) as response:
        pieces, begun = response.iter_text(), ""
        while "<h1>" not in begun:  # it waits for the store if it never comes
            begun += next(pieces)
        has_waited = time.monotonic() - asked < 15
        answers.set()
        return has_waited and "</html>" in begun + "".join(pieces)
