"""The local server answers its own page, and nothing and nobody else."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dragoman.cli.local_page import example, named_model
from dragoman.errors import UsageError
from dragoman.serving.local_server import LARGEST_BODY, LocalServer, page_files
from dragoman.serving.what_if import Workbench
from support.tiny_bundle import saved, tiny_folder, tiny_lm

TEXT = "a b c d"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class Answer:
    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status, self.headers, self.body = response.status, response.headers, response.read()


def send(server: LocalServer, method: str, path: str, body: Any = None, **headers: str) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    try:
        connection.request(method, path, data, named)
        return Answer(connection.getresponse())
    finally:
        connection.close()


def post(server: LocalServer, action: str, body: Any, **headers: str) -> Answer:
    path = f"/{server.token}/api/{action}"
    return send(server, "POST", path, body, **{"Content_Type": "application/json", **headers})


def test_the_page_and_its_answers(server: LocalServer) -> None:
    page = send(server, "GET", f"/{server.token}/")
    assert page.status == 200
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    answer = post(server, "decode", {"text": TEXT})
    assert answer.status == 200
    assert len(json.loads(answer.body)["source"]) == 5
    for one in (page, answer):
        assert one.headers["Content-Security-Policy"] == POLICY
        assert one.headers["X-Content-Type-Options"] == "nosniff"
        assert one.headers["Referrer-Policy"] == "no-referrer"
        assert one.headers["Cache-Control"] == "no-store"


def test_only_this_machine_can_connect(server: LocalServer) -> None:
    assert server.server_address[0] == "127.0.0.1"
    assert len(server.token) >= 32
    with LocalServer(None) as other:  # type: ignore[arg-type]
        assert other.token != server.token


@pytest.mark.parametrize("path", ["/", "/x/", "/{token}x/", "/{Token}/", "/x/{token}/", "/?{token}"])
def test_without_its_token_there_is_nothing(server: LocalServer, path: str) -> None:
    wrong = path.format(token=server.token, Token=server.token.swapcase())
    for method in ("GET", "POST"):
        assert send(server, method, wrong, {}, Content_Type="application/json").status == 404


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 403),
        ({"Host": "evil.example:{port}"}, 403),
        ({"Host": "127.0.0.1"}, 403),
        ({"Host": ""}, 403),
        ({"Host": "localhost:{port}"}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Origin": "http://127.0.0.1:{port}"}, 200),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Sec_Fetch_Site": "same-origin"}, 200),
        ({"Content_Type": "text/plain"}, 415),
        ({"Content_Type": "application/json; charset=utf-8"}, 200),
    ],
    ids=str,
)
def test_other_hosts_and_origins_are_refused(
    server: LocalServer, headers: dict[str, str], status: int
) -> None:
    ours = {name: value.format(port=server.server_port) for name, value in headers.items()}
    assert post(server, "models", {}, **ours).status == status
    if "Content_Type" not in headers:
        assert send(server, "GET", f"/{server.token}/", **ours).status == status


@pytest.mark.parametrize(
    "name", ["x.js", "../what_if.py", "%2e%2e/what_if.py", "page/main.js", "api/models", "."]
)
def test_only_the_files_of_the_page_are_served(server: LocalServer, name: str) -> None:
    assert send(server, "GET", f"/{server.token}/{name}").status == 404


def test_every_file_of_the_page_is_served(server: LocalServer) -> None:
    files = page_files()
    assert {"index.html", "style.css", "main.js", "rank.js"} <= set(files)
    for name, content in files.items():
        assert send(server, "GET", f"/{server.token}/{name}").body == content
    linked = re.findall(r'(?:from|src=|href=) ?"(?:\./)?([\w.]+)"', b"".join(files.values()).decode())
    assert set(linked) <= set(files)


@pytest.mark.parametrize(
    ("action", "body", "status"),
    [
        ("decode", b"{", 400),
        ("decode", b"\xff", 400),
        ("nothing", {}, 404),
        ("decode", {}, 422),
        ("decode", {"text": "a", "write": {"0": 99}}, 422),
    ],
    ids=["not JSON", "not UTF-8", "no action", "no text", "no token"],
)
def test_wrong_requests(server: LocalServer, action: str, body: Any, status: int) -> None:
    answer = post(server, action, body)
    assert answer.status == status
    if status == 422:
        assert json.loads(answer.body)["error"]["what"]


def test_a_bug_is_an_answer(
    server: LocalServer, workbench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    for answer in (lambda data: 1 / 0, lambda data: {"score": float("inf")}):
        monkeypatch.setitem(workbench.actions, "decode", answer)
        found = post(server, "decode", {"text": TEXT})
        assert found.status == 500
        assert "bug in Dragoman" in json.loads(found.body)["error"]["what"]
    assert post(server, "decode", b"[" * 200_000).status == 400


@pytest.mark.parametrize("length", [[], [f"Content-Length: {LARGEST_BODY + 1}"]], ids=["unknown", "large"])
def test_a_body_of_unknown_or_large_size_is_refused_unread(server: LocalServer, length: list[str]) -> None:
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=60) as connection:
        lines = [
            f"POST /{server.token}/api/models HTTP/1.1",
            f"Host: 127.0.0.1:{server.server_port}",
            "Content-Type: application/json",
            *length,
        ]
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        assert b" 413 " in connection.recv(1024)


def test_other_tasks_have_no_page(tmp_path: Path) -> None:
    saved(tmp_path / "model", tiny_lm())
    with pytest.raises(UsageError, match="models that translate"):
        named_model(str(tmp_path), None, [])
    assert example(str(tmp_path)) == ""


@pytest.mark.slow
def test_the_command_serves_until_it_is_interrupted(tmp_path: Path, dragoman: list[str]) -> None:
    tiny_folder(tmp_path / "model")
    valid = {"event": "valid", "step": 1, "loss": 2.0, "best": True, "sample": {"src": "c d"}}
    (tmp_path / "events.jsonl").write_text(json.dumps(valid) + "\n", encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if "DISPLAY" not in name}
    command = [*dragoman, "show", str(tmp_path), "--open", "--beam", "2", "--beside", str(tmp_path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        url = process.stdout.readline().decode().strip()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)(/[\w-]{32}/)", url)
        assert found, url
        connection = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=60)
        connection.request("POST", f"{found[2]}api/models", b"{}", {"Content-Type": "application/json"})
        told = json.loads(connection.getresponse().read())
        connection.close()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0
        assert b"Traceback" not in process.stderr.read()
    assert told["text"] == "c d"
    assert [one["search"]["size"] for one in told["models"]] == [2, 2]
