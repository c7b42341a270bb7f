"""Serve the page of a workbench to the browser of the same machine, and to nobody else.

Only the loopback interface is bound. Every path begins with a random token, which cannot be guessed and which
other pages, unlike a cookie, do not send. A request must name this host (another name that resolves to
127.0.0.1 is refused), must not come from another origin, and has JSON in its body. Answers forbid the browser
everything that the page does not need.
"""

from __future__ import annotations

import json
import secrets
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from typing import Any

from dragoman.errors import DragomanError
from dragoman.inspection.pictures.theme import style_sheet
from dragoman.serving.what_if import Workbench, error_data

HOST = "127.0.0.1"
LARGEST_BODY = 1 << 20  # bytes
SECONDS = 30  # that a browser may take to send its request
FILES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
JSON = "application/json"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class LocalServer(ThreadingHTTPServer):
    """A server of one page, at a random port and under a random path."""

    daemon_threads = True

    def __init__(self, workbench: Workbench) -> None:
        self.token = secrets.token_urlsafe(24)
        self.files = page_files()
        super().__init__((HOST, 0), partial(Handler, workbench=workbench))

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.server_port}/{self.token}/"


class Handler(BaseHTTPRequestHandler):
    server: LocalServer
    timeout = SECONDS
    server_version = "dragoman"
    sys_version = ""

    def __init__(self, *args: Any, workbench: Workbench) -> None:
        self.workbench = workbench
        super().__init__(*args)

    def do_GET(self) -> None:
        path = self._allowed_path()
        if path is None:
            return
        name = path or "index.html"
        if name not in self.server.files:
            self._refuse(HTTPStatus.NOT_FOUND)
            return
        self._send(HTTPStatus.OK, FILES["." + name.rpartition(".")[2]], self.server.files[name])

    def do_POST(self) -> None:
        path = self._allowed_path()
        if path is None:
            return
        if self.headers.get_content_type() != JSON:
            self._refuse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
            return
        size = self.headers.get("Content-Length", "")
        if not size.isascii() or not size.isdigit() or len(size) > 9 or int(size) > LARGEST_BODY:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            return
        try:
            data = json.loads(self.rfile.read(int(size)))
        except (ValueError, RecursionError):
            self._refuse(HTTPStatus.BAD_REQUEST)
            return
        self._answer(path, data)

    def _answer(self, path: str, data: Any) -> None:
        action = self.workbench.actions.get(path.removeprefix("api/"))
        if action is None:
            self._refuse(HTTPStatus.NOT_FOUND)
            return
        try:
            status, answer = HTTPStatus.OK, in_json(action(data))
        except DragomanError as error:
            status, answer = HTTPStatus.UNPROCESSABLE_ENTITY, in_json({"error": error_data(error)})
        except Exception as error:  # the page says so, and can go on
            bug = DragomanError(f"This is a bug in Dragoman: {type(error).__name__}: {error}", hint="")
            status, answer = HTTPStatus.INTERNAL_SERVER_ERROR, in_json({"error": error_data(bug)})
        self._send(status, JSON, answer)

    def _allowed_path(self) -> str | None:
        """Return the path after the token; None if the request was refused."""
        token, _, path = self.path.partition("?")[0].removeprefix("/").partition("/")
        own = {f"{host}:{self.server.server_port}" for host in (HOST, "localhost")}
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
        is_other = origin is not None and origin not in {f"http://{one}" for one in own}
        site = self.headers.get("Sec-Fetch-Site", "none")
        if host not in own or is_other or site not in ("none", "same-origin"):
            self._refuse(HTTPStatus.FORBIDDEN)
        elif not secrets.compare_digest(token.encode(), self.server.token.encode()):
            self._refuse(HTTPStatus.NOT_FOUND)
        else:
            return path
        return None

    def _refuse(self, status: HTTPStatus) -> None:
        self.close_connection = True  # the body, if there is one, was not read
        self._send(status, "text/plain; charset=utf-8", f"{status.value} {status.phrase}\n".encode())

    def _send(self, status: HTTPStatus, kind: str, content: bytes) -> None:
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing: the terminal belongs to the command."""


def in_json(data: Any) -> bytes:
    return json.dumps(data, allow_nan=False).encode()


def page_files() -> dict[str, bytes]:
    """Return the files of the page by their names; nothing else can be requested."""
    folder = resources.files("dragoman.serving") / "page"
    found = {
        file.name: file.read_bytes()
        for file in folder.iterdir()
        if file.is_file() and "." + file.name.rpartition(".")[2] in FILES
    }
    return {**found, "theme.css": style_sheet().encode()}
