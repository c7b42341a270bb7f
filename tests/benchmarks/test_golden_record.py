"""The golden record of this tree is that of the last revision that changed behaviour on purpose."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REVISION = (ROOT / "benchmarks" / "golden_revision.txt").read_text(encoding="utf-8").strip()


@pytest.mark.slow
def test_weights_and_outputs_are_those_of_the_golden_revision(tmp_path: Path) -> None:
    known = subprocess.run(["git", "-C", str(ROOT), "cat-file", "-e", REVISION], capture_output=True)
    if known.returncode:
        pytest.skip(f"the history of this clone does not reach back to {REVISION}")
    script = ROOT / "benchmarks" / "golden_record.py"
    command = [sys.executable, str(script), str(tmp_path / "record.txt"), "--against", REVISION]
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert "lines are the same as of" in done.stdout
