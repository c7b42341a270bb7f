"""Chromium for tests, and axe-core in it; a test that needs what is not there is skipped and says why."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@contextmanager
def chromium() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="no Playwright: pip install playwright")
    if CHROMIUM is None:
        pytest.skip("no Chromium: apt-get install chromium")
    with (
        sync_api.sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"]) as browser,
    ):
        yield browser


def axe() -> str:
    places = [os.environ.get("DRAGOMAN_AXE", ""), ROOT / "node_modules" / "axe-core" / "axe.min.js"]
    file = next((Path(place) for place in places if place and Path(place).is_file()), None)
    if file is None:
        pytest.skip("no axe-core: npm install axe-core, or set DRAGOMAN_AXE to its axe.min.js")
    return file.read_text(encoding="utf-8")


def serious_findings(page: Any, script: str) -> list[tuple[str, list[str]]]:
    page.evaluate(script)
    found = page.evaluate("() => axe.run(document)")
    return [
        (one["id"], [node["html"][:200] for node in one["nodes"]][:3])
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]
