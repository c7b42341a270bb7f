"""Training and search on a pretend accelerator, in a process of its own.

torch's autograd engine knows the devices that exist when it first computes a gradient, so the device must be
registered before that.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CASES = Path(__file__).with_name("on_pretend_device.py")


@pytest.mark.parametrize("which", ["not slow", pytest.param("slow", marks=pytest.mark.slow)])
def test_on_a_pretend_device(which: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", which, str(CASES)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=CASES.parents[2])
    assert done.returncode == 0, done.stdout
