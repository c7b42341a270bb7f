"""Training and decoding on a pretend accelerator, in a process of its own.

torch's autograd engine knows the devices that exist when it first computes a gradient, so the device must be
registered before that.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CASES = [str(file) for file in sorted(HERE.glob("*_on_pretend_device.py"))]


@pytest.mark.slow
@pytest.mark.parametrize("which", ["not slow", "slow"])
def test_on_a_pretend_device(which: str) -> None:
    # Without conftest.py, which checks shapes: that takes a third of the time.
    options = ["-q", "-p", "no:cacheprovider", *(["--noconftest"] if which == "not slow" else [])]
    command = [sys.executable, "-m", "pytest", *options, "-m", which, *CASES]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=HERE.parents[1])
    assert done.returncode == 0, done.stdout
