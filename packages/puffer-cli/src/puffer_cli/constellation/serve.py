"""Serve the page on this machine alone, and tell it when the data changes.

The address is loopback, with a random port and a random token in the path. Requests for another
host are refused (a page elsewhere cannot rebind its name to us), and so is every path but those of
a fixed list: no path of a request ever becomes a path of a file.
"""

from __future__ import annotations

import hmac
import json
import secrets
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import parse_qs, urlsplit

from puffer_cli.constellation import assets
from puffer_cli.constellation.dataset import Dataset

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; "
        "img-src 'self' blob: data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'self'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
MAX_LISTENERS = 16
HEARTBEAT = 10.0  # seconds


class Server:
    """A server of one view.

    Attributes:
        url: address of the page, with its token.
    """

    def __init__(self, dataset: Dataset, port: int = 0) -> None:
        """Listen on a port of 127.0.0.1; 0 takes a free one. `start` answers.

        Raises:
            OSError: the port is taken.
        """
        self._token = secrets.token_urlsafe(16)
        self._changed = threading.Condition()
        self._listeners = threading.BoundedSemaphore(MAX_LISTENERS)
        self._files = assets.files()
        self._closed = False
        self.set(dataset)
        self._http = ThreadingHTTPServer(("127.0.0.1", port), self._handler())
        self._http.daemon_threads = True
        self.port: int = self._http.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/{self._token}/"

    def start(self) -> None:
        """Answer requests, on a thread of its own."""
        threading.Thread(target=self._http.serve_forever, args=(0.1,), daemon=True).start()

    def close(self) -> None:
        """Stop answering."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._http.shutdown()
        self._http.server_close()

    def set(self, dataset: Dataset) -> None:
        """Serve another version of the data, and tell the pages."""
        files = {"data.bin": dataset.data}
        files |= {f"curve-{k}.bin": curve for k, curve in enumerate(dataset.curves)}
        with self._changed:
            self._data, self._version = files, dataset.version
            self._changed.notify_all()

    def follow(self, update: Callable[[], Dataset | None], interval: float = 1.0) -> None:
        """Ask for a new version again and again until interrupted; None is no news.

        Updates that take long come less often: they take at most a third of the time.
        """
        while not self._closed:
            begun = time.monotonic()
            dataset = update()
            if dataset is not None:
                self.set(dataset)
            time.sleep(max(interval, 2 * (time.monotonic() - begun)))

    def _handler(server) -> type[BaseHTTPRequestHandler]:  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 30
            server_version, sys_version = "puffer", ""

            def do_GET(self) -> None:
                server._answer(self)

            do_HEAD = do_GET  # noqa: N815

            def log_message(self, *arguments: Any) -> None:
                pass

        return Handler

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        try:
            hosts = request.headers.get_all("Host") or []
            if hosts not in ([f"127.0.0.1:{self.port}"], [f"localhost:{self.port}"]):
                return self._refuse(request, HTTPStatus.FORBIDDEN)
            target = urlsplit(request.path)
            token, _, name = target.path.lstrip("/").partition("/")
            if not hmac.compare_digest(token.encode(), self._token.encode()):
                return self._refuse(request, HTTPStatus.NOT_FOUND)
            if name == "events":
                return self._events(request)
            wanted = parse_qs(target.query).get("version")
            with self._changed:
                data, version = self._data, self._version
            content = self._files.get(name or "index.html", data.get(name))
            if content is None:
                return self._refuse(request, HTTPStatus.NOT_FOUND)
            if name in data and wanted not in (None, [str(version)]):
                return self._refuse(request, HTTPStatus.CONFLICT)
            suffix = PurePosixPath(name or "index.html").suffix
            self._send(request, HTTPStatus.OK, assets.TYPES[suffix], content)
        except (BrokenPipeError, ConnectionResetError, TimeoutError):
            request.close_connection = True

    def _refuse(self, request: BaseHTTPRequestHandler, status: HTTPStatus) -> None:
        self._send(request, status, "text/plain; charset=utf-8", f"{status.phrase}\n".encode())

    def _send(
        self, request: BaseHTTPRequestHandler, status: HTTPStatus, kind: str, content: bytes
    ) -> None:
        request.send_response(status)
        for name, value in HEADERS.items():
            request.send_header(name, value)
        request.send_header("Content-Type", kind)
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        if request.command == "GET":
            request.wfile.write(content)

    def _events(self, request: BaseHTTPRequestHandler) -> None:
        """Server-sent events: the version of the data, whenever it changes."""
        if not self._listeners.acquire(blocking=False):
            return self._refuse(request, HTTPStatus.SERVICE_UNAVAILABLE)
        try:
            request.close_connection = True
            request.send_response(HTTPStatus.OK)
            for name, value in HEADERS.items():
                request.send_header(name, value)
            request.send_header("Content-Type", "text/event-stream")
            request.end_headers()
            told = None
            while not self._closed:
                with self._changed:
                    if self._version == told:
                        self._changed.wait(HEARTBEAT)
                    version = self._version
                line = ": still here\n\n"
                if version != told:
                    line = f"data: {json.dumps({'version': version})}\n\n"
                told = version
                request.wfile.write(line.encode())
                request.wfile.flush()
        finally:
            self._listeners.release()
