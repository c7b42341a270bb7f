"""The commands in a process where torch cannot be imported, as in an installation without it."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
sys.modules["torch"] = sys.modules["jaxtyping"] = None
from dragoman.cli.main import main
raise SystemExit(main())
"""


def run_without_torch(*arguments: str) -> str:
    """Return what a command prints."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
