"""The pretend device finds defects: a missing `device=`, a value that is read, a copy that is waited for.

Each is planted in a copy of the package.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import dragoman

HERE = Path(__file__).parent
MIXED = "Expected all tensors to be on the same device"


class Defect(NamedTuple):
    file: str
    before: str
    after: str
    cases: str  # a part of the names of the tests that find it
    found: str = ""  # in their report; by default a wait or copy in this file


UPDATE, OBJECTIVE, SEARCH = "cpu_and_no_wait", "objective_has_the_losses", "waits_once_per_step"
DEFECTS = {
    "causal mask": Defect("nn/attention/attend.py", "device=device).triu_(1)", ").triu_(1)", UPDATE, MIXED),
    "last real state": Defect(
        "nn/cells/unroll.py",
        "torch.arange(h.shape[0], device=h.device)",
        "torch.arange(h.shape[0])",
        UPDATE,
        MIXED,
    ),
    "first tokens": Defect(
        "search/greedy.py",
        "BOS, device=src.device)\n    state =",
        "BOS)\n    state =",
        f"{SEARCH} and greedy-",
        MIXED,
    ),
    "word table": Defect(
        "training/objectives/attention_losses.py",
        "send(torch.from_numpy(x), device)",
        "torch.from_numpy(x)",
        f"{OBJECTIVE} and guided",
        MIXED,
    ),
    "loss": Defect(
        "losses/fast/output.py", "nll -= log_p_y.sum()", "nll -= log_p_y.sum().item()", UPDATE, "value: "
    ),
    "gradients": Defect("training/step.py", "skip = (~(norm", "skip = (~(norm.cpu()", UPDATE),
    "candidates": Defect(
        "search/expand.py",
        "    parts = [x.to(log_p)",
        "    float(log_p.max())\n    parts = [x.to(log_p)",
        SEARCH,
    ),
    "scores of a beam": Defect(
        "search/beam.py", "send(beam.log_p, device)", "beam.log_p.to(device)", f"{SEARCH} and beam-"
    ),
    "samples": Defect(
        "search/sample.py",
        "most.isnan(), most,",
        "torch.tensor(bool(most.isnan().any())), most,",
        f"{SEARCH} and sample-",
    ),
    "banks": Defect(
        "search/lexical/search.py",
        "most = banks.max() + 1",
        "most = int(banks.max()) + 1",
        f"{SEARCH} and constrained-",
    ),
    "forced tokens": Defect(
        "search/forced.py",
        "best = step.log_p.max(dim=1)\n",
        "best = step.log_p.max(dim=1)\n            best.values.tolist()\n",
        "calibration",
        "== [2]",
    ),
}


def report(source: Path, cases: str) -> tuple[int, str]:
    files = [str(file) for file in sorted(HERE.glob("*_on_pretend_device.py"))]
    options = ["-q", "-x", "-p", "no:cacheprovider", "--noconftest", "-m", "not slow", "-k", cases]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *files],
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=False,
        cwd=HERE.parents[1],
    )
    return done.returncode, done.stdout


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """The folder of a copy of the package."""
    assert dragoman.__file__
    shutil.copytree(Path(dragoman.__file__).parent, tmp_path / "src" / "dragoman")
    return tmp_path / "src"


@pytest.mark.slow
def test_the_copy_has_no_defect(source: Path) -> None:
    cases = {defect.cases for defect in DEFECTS.values()}
    code, stdout = report(source, " or ".join(f"({case})" for case in cases))
    assert code == 0, stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_is_found(name: str, source: Path) -> None:
    defect = DEFECTS[name]
    file = source / "dragoman" / defect.file
    text = file.read_text(encoding="utf-8")
    assert text.count(defect.before) == 1, f"{defect.before!r} is not in {defect.file}"
    file.write_text(text.replace(defect.before, defect.after), encoding="utf-8")
    code, stdout = report(source, defect.cases)
    assert code == 1, stdout
    assert (defect.found or f"{defect.file}:") in stdout
