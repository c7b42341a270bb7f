"""The documentation builds without a warning, and can be read without a mouse and on a phone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.browser import axe, chromium, serious_findings
from support.pages import ROOT

pytest.importorskip("sphinx", reason="sphinx is not installed; pip install dragoman[docs]")

READ = ("index", "tutorial", "tasks", "settings", "faq", "coming-from", "show", "gallery")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    build = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "-q",
        "-d",
        folder / "trees",
        ROOT / "docs",
        folder / "html",
    ]
    done = subprocess.run(build, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "html"


def test_documentation_builds_without_a_warning(site: Path) -> None:
    assert (site / "tour.html").exists()


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
def test_axe_finds_nothing_serious(site: Path, width: int, scheme: str) -> None:
    script = axe()
    with chromium() as browser:
        for name in READ:
            page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
            page.goto((site / f"{name}.html").as_uri())
            assert serious_findings(page, script) == [], name
            assert page.evaluate("document.documentElement.scrollWidth") <= width, name
            page.close()
