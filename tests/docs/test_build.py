"""The documentation builds without a warning."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.pages import ROOT

pytest.importorskip("sphinx", reason="sphinx is not installed; pip install dragoman[docs]")


def test_documentation_builds_without_a_warning(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "sphinx",
            "-W",
            "-q",
            "-d",
            tmp_path / "trees",
            ROOT / "docs",
            tmp_path / "html",
        ],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "html" / "tour.html").exists()
