"""Runs on two ranks that are disturbed: they end, in words, and never wait for each other for ever.

`benchmarks/ranks.py` has the same at length, and by torchrun.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"
# One process that is warm, and forks: torch is imported once.
PROGRAM = """
import json, sys
from pathlib import Path
import ranks

ranks.LIMIT = 150.0
home = Path(sys.argv[1])
ranks.write_data(home)
clocks = ranks.Trial(home, "clocks", clocks=1)
slow = ranks.Trial(home, "slow", "training.timeout=4", seconds=9)
killed = ranks.Trial(home, "killed", rank=1, at="update", strike="die")
ahead = ranks.Trial(home, "ahead", rank=1, at="update", strike="run ahead")
still = ranks.Trial(home, "still", "training.timeout=3", rank=1, at="update", strike="stand still", still=10)
found = {}
for name, trial in {"clocks": clocks, "slow": slow, "killed": killed, "ahead": ahead, "still": still}.items():
    codes = trial.fork()
    found[name] = {"codes": codes, "said": [trial.said(rank) for rank in trial.ranks]}
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = os.pathsep.join(filter(None, [str(BENCHMARKS), os.environ.get("PYTHONPATH", "")]))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path_factory.mktemp("ranks"))],
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    rows: dict[str, Any] = json.loads(done.stdout.strip().rpartition("\n")[2])
    return rows


@pytest.mark.slow
def test_clocks_that_disagree_do_not_part_the_ranks(found: dict[str, Any]) -> None:
    """By its own clock one rank would time fewer updates than the other."""
    assert found["clocks"]["codes"] == [0, 0], found["clocks"]["said"]


def test_preparation_may_take_longer_than_an_update(found: dict[str, Any]) -> None:
    assert found["slow"]["codes"] == [0, 0], found["slow"]["said"]


def test_a_killed_rank_is_named_with_the_update_and_what_to_type(found: dict[str, Any]) -> None:
    assert found["killed"]["codes"] == [1, -9]
    said = found["killed"]["said"][0]
    assert "error  Rank 1 is gone: it was killed, or its machine is out of reach.\n" in said
    assert "  where     rank 0, update 4, at training/distributed/ranks.py:" in said
    assert "then resume: torchrun --nproc-per-node 2 -m dragoman train -o " in said
    assert "Traceback" not in said


def test_ranks_at_different_updates_say_so_before_they_mix(found: dict[str, Any]) -> None:
    assert found["ahead"]["codes"] == [1, 1]
    for said in found["ahead"]["said"]:
        assert "Ranks are at different updates: rank" in said


def test_a_rank_that_stands_still_is_named_with_its_stack(found: dict[str, Any]) -> None:
    assert found["still"]["codes"] == [1, 1]
    said = found["still"]["said"][0]
    assert (
        "Rank 1 did not reach update 4 within 3 seconds. Its last heartbeat came from update 3, at tra"
        in said
    )
    assert "training/loop.py" in said
