"""The page over HTTP, for this machine only: it listens on loopback, answers one address, and changes nothing."""

from __future__ import annotations

from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import cast

from sismo.errors import UsageError

HOST = "127.0.0.1"
_NAMES = {HOST, "localhost"}
"""Names that a browser may have asked for: another one means that a foreign page points its own name at us."""


class PageServer:
    """Serves the last page that ``show`` was given, from a thread of its own."""

    def __init__(self, port: int) -> None:
        try:
            self._server = _Server((HOST, port), _Handler)
        except (OSError, OverflowError) as error:
            raise UsageError(f"port {port}: {getattr(error, 'strerror', None) or error}") from error
        self._thread = Thread(target=self._server.serve_forever, name="sismo-page", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """Where to point a browser."""
        return f"http://{HOST}:{self._server.server_address[1]}/"

    def show(self, page: str) -> None:
        """Puts a page in the place of the one before."""
        self._server.page = page.encode("utf-8")

    def close(self) -> None:
        """Stops serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    page: bytes = b""


class _Handler(BaseHTTPRequestHandler):
    server_version = "sismo"
    sys_version = ""

    def do_GET(self) -> None:
        """The page, or nothing where the one who asks has it already."""
        page = cast("_Server", self.server).page
        tag = f'"{sha256(page).hexdigest()[:32]}"'
        name = (self.headers.get("Host") or "").rpartition(":")[0] or self.headers.get("Host")
        if name not in _NAMES:
            self._answer(403)
        elif self.path != "/":
            self._answer(404)
        elif self.headers.get("If-None-Match") == tag:
            self._answer(304)
        else:
            self._answer(200 if page else 503, page, tag)

    def _answer(self, status: int, body: bytes = b"", tag: str = "") -> None:
        self.send_response(status)
        headers = {"Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(body)), "Cache-Control": "no-store"}
        headers |= {"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer"}
        headers |= {"ETag": tag} if tag else {}
        headers |= {"Refresh": "2"} if status == 503 else {}  # asked before there was anything to show: ask again
        for key, value in headers.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the class that this overrides
        """Silence: the terminal belongs to the verdict."""
