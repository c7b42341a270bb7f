"""LibreTranslate without a network: installs a package, serves it and asks it. Run by ../libretranslate.py.

    unshare --net --map-root-user PYTHON ask_libretranslate.py PACKAGE FOLDER < asked.json > answers.json

PYTHON is that of an environment with LibreTranslate, FOLDER an empty one for all that it writes. Read are
`languages`, `lines` and `ours`, what we answer to each line; written are its answers, and ours once
LibreTranslate has done to them what it does to every output of a model.
"""

from __future__ import annotations

import html
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from importlib.metadata import version
from pathlib import Path
from typing import Any

PORT = 5000  # of a network of its own, so that it is free
HOME = f"http://127.0.0.1:{PORT}"
OUTSIDE = ("1.1.1.1", 443)
PACKAGES = ("libretranslate", "argos-translate-lt", "ctranslate2", "minisbd", "sentencepiece", "numpy")
LONGEST_START = 300  # seconds


def main() -> None:
    package, folder = Path(sys.argv[1]), Path(sys.argv[2])
    asked = json.load(sys.stdin)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    interfaces, refusal = [name for _, name in socket.if_nameindex()], outside()
    install(package)
    with (folder / "server.log").open("w") as log:
        start = time.perf_counter()
        server = subprocess.Popen(command(asked["languages"]), cwd=folder, stdout=log, stderr=log)
        try:
            languages = wait(server)
            answers, seconds = answered(asked, start)
        finally:
            server.terminate()
            server.wait()
    found = {
        "versions": {name: version(name) for name in PACKAGES},
        "network": {"interfaces": interfaces, "outside": refusal},
        "languages": languages,
        "first_seconds": round(seconds[0], 1),
        "line_seconds": round((seconds[-1] - seconds[0]) / max(1, len(seconds) - 1), 3),
        "answers": answers,
        "ours": [finished(line, text) for line, text in zip(asked["lines"], asked["ours"], strict=True)],
    }
    json.dump(found, sys.stdout)


def outside() -> str | None:
    """Why no address outside can be reached; None if one can."""
    try:
        socket.create_connection(OUTSIDE, timeout=5).close()
    except OSError as problem:
        return problem.strerror or type(problem).__name__
    return None


def install(package: Path) -> None:
    """By Argos Translate's own installer, into a folder of packages that is empty."""
    from argostranslate import package as packages

    if packages.get_installed_packages():
        raise SystemExit(f"There are packages in {os.environ['ARGOS_PACKAGES_DIR']} already.")
    packages.install_from_path(package)


def command(languages: list[str]) -> list[str]:
    """With fewer than two packages LibreTranslate looks for others as it starts, for minutes if there is no
    network. It gives up at once if languages were named and the index of packages, empty here, has none."""
    program = str(Path(sys.executable).with_name("libretranslate"))
    return [program, "--host", "127.0.0.1", "--port", str(PORT), "--load-only", ",".join(languages)]


def wait(server: subprocess.Popen[bytes]) -> list[dict[str, Any]]:
    """Until it tells its languages."""
    end = time.perf_counter() + LONGEST_START
    while server.poll() is None and time.perf_counter() < end:
        try:
            return list(fetch("/languages"))
        except urllib.error.URLError:
            time.sleep(0.1)
    raise SystemExit("LibreTranslate did not start; server.log says why.")


def answered(asked: dict[str, Any], start: float) -> tuple[list[str], list[float]]:
    """One request for each line, and the seconds after which it was answered."""
    source, target = asked["languages"]
    answers, seconds = [], []
    for line in asked["lines"]:
        question = {"q": line, "source": source, "target": target, "format": "text"}
        answers.append(fetch("/translate", question)["translatedText"])
        seconds.append(time.perf_counter() - start)
    return answers, seconds


def fetch(path: str, question: dict[str, Any] | None = None) -> Any:
    data = None if question is None else json.dumps(question).encode()
    request = urllib.request.Request(HOME + path, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=600) as answer:
        return json.load(answer)


def finished(line: str, text: str) -> str:
    """With the line's last punctuation and case, by LibreTranslate's own rule. It cannot be turned off."""
    from libretranslate.language import improve_translation_formatting

    return html.unescape(improve_translation_formatting(line, text))


if __name__ == "__main__":
    main()
