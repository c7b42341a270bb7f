"""What the benchmarks measure is what they say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import typed
from benchmarks.quality import pairs_and_minutes
from benchmarks.quality.bleu_against_length import Pair, bucket, training_pairs, validation_pairs
from benchmarks.quality.vanishing import CELLS, DISTANCE, norms_of
from benchmarks.run_log import RunLog
from benchmarks.speed.cost_against_length import HEADS, D, WrittenOut, exponent
from dragoman.nn.attention.multi_head import SelfAttention
from dragoman.nn.cells.cell import CellState
from dragoman.nn.cells.lstm import LSTMCell

LINES = st.lists(st.integers(1, 12), max_size=40).map(
    lambda sizes: [Pair(" ".join([f"s{place}"] * size), f"t{place}") for place, size in enumerate(sizes)]
)


@given(LINES, st.sampled_from([(1, 5), (6, 10), (11, 20), (21, 40)]))
def test_a_bucket_holds_its_lengths_and_no_line_twice(lines: list[Pair], limits: tuple[int, int]) -> None:
    low, high = limits
    pairs = list(bucket(lines, low, high))
    assert all(low <= pair.words <= high for pair in pairs)
    used = [word for pair in pairs for word in pair.tgt.split()]
    assert used == [f"t{n}" for n in sorted(int(word[1:]) for word in set(used))]
    for pair in pairs:  # both sides are joined of the same lines
        assert list(dict.fromkeys(pair.src.replace("s", "t").split())) == pair.tgt.split()


def test_lines_are_joined_by_one_two_three_and_four() -> None:
    lines = [Pair(f"s{n}", f"t{n}") for n in range(10)]
    assert [pair.words for pair in training_pairs(lines)] == [1] * 10 + [2] * 5 + [3] * 3 + [4] * 2
    assert [pair.tgt for pair in validation_pairs(lines)] == ["t0", "t1 t2", "t3 t4 t5", "t6 t7 t8 t9"]


def test_exponent_is_that_of_the_power() -> None:
    lengths = [16, 32, 64, 128, 256]
    assert exponent(lengths, [n**1.5 for n in lengths]) == 1.5
    assert exponent(lengths, [900.0, *[5.0] * 4]) == 0


def test_attention_written_out_is_our_attention() -> None:
    torch.manual_seed(0)
    ours, written = SelfAttention(D, HEADS, 0.0), WrittenOut(D, HEADS, 0.0)
    written.load_state_dict(ours.state_dict())
    x = torch.randn(2 * 160, D)  # long enough for torch's kernel
    torch.testing.assert_close(written(x, (2, 160), None), ours(x, (2, 160), None))


@pytest.mark.parametrize("kind", CELLS)
def test_norms_are_those_of_the_derivative_through_all_steps(kind: str) -> None:
    torch.manual_seed(0)
    cell, x = CELLS[kind](3, 4), torch.randn(DISTANCE + 2, 3)
    norms, distance = norms_of(cell, x), 3
    state = cell.zero(1)
    for x_t in x[:-distance].split(1):
        state = cell(x_t, state)

    def rest(h: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        end = CellState(h, c)
        for x_t in x[-distance:].split(1):
            end = cell(x_t, end)
        return end.h[0]

    by_h, by_c = torch.autograd.functional.jacobian(rest, (state.h.detach(), state.c.detach()))
    assert norms["h"][distance] == pytest.approx(float(torch.linalg.matrix_norm(by_h[:, 0], 2)), rel=1e-4)
    assert ("c" in norms) == isinstance(cell, LSTMCell)
    if "c" in norms:
        assert norms["c"][distance] == pytest.approx(float(torch.linalg.matrix_norm(by_c[:, 0], 2)), rel=1e-4)


def test_a_larger_corpus_has_the_pairs_of_a_smaller_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pairs_and_minutes, "DATA", tmp_path)
    for side in pairs_and_minutes.SIDES:
        typed.write(tmp_path / f"train.{side}", [f"{side} {n}" for n in range(50)])
    small, large = (
        [typed.lines(file) for file in pairs_and_minutes.write_corpus(tmp_path / str(pairs), pairs)]
        for pairs in (10, 30)
    )
    assert len(small[0]) == 10
    assert set(small[0]) < set(large[0])
    assert [line.replace("eng", "deu") for line in large[0]] == large[1]
    with pytest.raises(SystemExit, match="There are 50 pairs, not 51"):
        pairs_and_minutes.write_corpus(tmp_path / "51", 51)


def test_minutes_of_a_curve_count_all_that_a_run_did(tmp_path: Path) -> None:
    events = [
        {"event": "start", "seconds": 6.0},
        {"event": "step", "seconds": 20.0},
        {"event": "valid", "seconds": 4.0, "bleu": 1.5},
        {"event": "checkpoint", "seconds": 30.0},
        {"event": "resume", "seconds": 90.0},
        {"event": "step", "seconds": 24.0},
        {"event": "valid", "seconds": 6.0, "bleu": 2.5},
    ]
    typed.write(tmp_path / "events.jsonl", map(json.dumps, events))
    assert list(pairs_and_minutes.validations(RunLog(tmp_path))) == [(0.5, 1.5), (2.0, 2.5)]
