"""A link between two machines is cut: a rank that exchanges gradients ends in time and says where it waited.

One that waits for the first rank to validate is more patient. Its torchrun ends it, or a person does.
"""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

import pytest

from benchmarks.robustness.same_bits import last_step
from benchmarks.scale.emulated_nodes import emulated_nodes, why_not
from benchmarks.scale.restarts import SETTINGS, write_data

TIMEOUT = 5
MORE = 25  # seconds to notice and to say so, on a busy machine, too


@pytest.mark.slow
@pytest.mark.parametrize(("at", "ends"), [("update", [0, 1]), ("validation", [0])])
def test_the_ranks_of_a_cut_link_end_in_time(
    at: str, ends: list[int], tmp_path: Path, dragoman: list[str]
) -> None:
    if reason := why_not():
        pytest.skip(reason)
    write_data(tmp_path)
    out = tmp_path / "run"
    # At every update, or at none, the other rank waits for what the first alone does.
    every = 100_000 if at == "update" else 1
    boundaries = [f"training.{what}_every={every}" for what in ("validate", "checkpoint")]
    lengths = ["training.updates=100000", *boundaries, f"training.timeout={TIMEOUT}"]
    data = [str(tmp_path / "train.tsv"), "--valid", str(tmp_path / "valid.tsv")]
    train = [*dragoman, "train", *data, "-o", str(out), "--yes", *SETTINGS, *lengths]
    said = [tmp_path / "rank0.txt", tmp_path / "rank1.txt"]
    with emulated_nodes(2) as nodes:
        world = {"WORLD_SIZE": "2", "MASTER_ADDR": nodes[0].address, "MASTER_PORT": "29500"}
        ranks = []
        for number, node in enumerate(nodes):
            environment = {**node.environment(), **world, "RANK": str(number), "OMP_NUM_THREADS": "1"}
            with said[number].open("wb") as file:
                command = node.command(*train)
                ranks.append(subprocess.Popen(command, env=environment, stdout=file, stderr=file))
        try:
            while last_step(out) < 5:
                assert all(rank.poll() is None for rank in ranks)
                time.sleep(0.05)
            nodes[1].link("down")
            end = time.monotonic() + TIMEOUT + MORE
            while not all("error  " in said[rank].read_text(encoding="utf-8") for rank in ends):
                assert time.monotonic() < end, [file.read_text(encoding="utf-8") for file in said]
                time.sleep(0.05)
            codes = [ranks[rank].wait(60) for rank in ends]
        finally:
            for rank in ranks:
                rank.kill()
                rank.wait()
    texts = [said[rank].read_text(encoding="utf-8") for rank in ends]
    assert codes == [1 for _ in ends], texts
    for number, text in zip(ends, texts, strict=True):
        assert "Another rank is gone or does not answer" in text
        assert re.search(rf"rank {number}, (update|validation and saving after update) \d+", text), text
