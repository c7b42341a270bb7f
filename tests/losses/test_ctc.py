"""CTC against the sum over all paths, torch's kernel, and the closed form of its gradient."""

from itertools import groupby, product
from math import prod

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import DataError
from dragoman.losses import ctc
from dragoman.losses.ctc_frames import frames_needed, refuse_impossible
from dragoman.losses.fast import ctc as fast
from dragoman.shapes import Tensor

Cases = tuple[Tensor, Tensor, Tensor, Tensor]  # logits, keep, l, l_keep


def random_cases(seed: int, rows: int = 50) -> Cases:
    """Labellings that fit: 1 to 12 frames, 0 to 8 labels of an alphabet of 1 to 5, so with many repeats."""
    draw = torch.Generator().manual_seed(seed)

    def integers(low: int, high: int, size: tuple[int, ...]) -> Tensor:
        return torch.randint(low, high + 1, size, generator=draw)

    labels = 1 + seed % 5
    l = integers(0, labels - 1, (rows, 8))
    needed = torch.tensor([[frames_needed(row[:n]) for n in range(9)] for row in l.tolist()])
    frames = torch.cat([torch.ones(5, dtype=torch.int64), integers(1, 12, (rows - 5,))])
    fits = (needed <= frames.unsqueeze(1)).sum(dim=1) - 1  # the longest prefix of the row that fits
    length = torch.minimum(integers(0, 8, (rows,)), fits)
    logits = 3 * torch.randn(rows, int(frames.max()), labels + 1, dtype=torch.float64, generator=draw)
    return logits, torch.arange(logits.shape[1]) < frames[:, None], l, torch.arange(8) < length[:, None]


def test_1000_random_cases_equal_torch_and_the_closed_form() -> None:
    """The cases are 20 batches of 50, of the seeds 0 to 19."""
    empty = single = repeated = 0
    for seed in range(20):
        logits, keep, l, l_keep = random_cases(seed)
        results = []
        for loss in (ctc.ctc, fast.ctc):
            u = logits.clone().requires_grad_()
            found = loss(u.log_softmax(dim=2), keep, l, l_keep)
            found.sum().backward()
            results.append((found.detach(), u.grad))
        (value, slope), (torch_value, torch_slope) = results
        torch.testing.assert_close(value, torch_value, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(slope, torch_slope, rtol=0.0, atol=1e-12)
        closed = ctc.gradient(logits.log_softmax(dim=2), keep, l, l_keep)
        torch.testing.assert_close(slope, closed, rtol=0.0, atol=1e-12)
        empty += int((l_keep.sum(dim=1) == 0).sum())
        single += int((keep.sum(dim=1) == 1).sum())
        repeated += int(((l[:, 1:] == l[:, :-1]) & l_keep[:, 1:]).any(dim=1).sum())
    assert min(empty, single, repeated) >= 100


def test_equals_the_sum_over_all_paths() -> None:
    logits, keep, l, l_keep = random_cases(2, rows=40)
    short = keep.sum(dim=1) <= 5
    logits, keep, l, l_keep = logits[short], keep[short], l[short], l_keep[short]
    p = logits.softmax(dim=2).tolist()
    blank = logits.shape[2] - 1
    for row, loss in enumerate(ctc.ctc(logits.log_softmax(dim=2), keep, l, l_keep)):
        total = 0.0
        for path in product(range(blank + 1), repeat=int(keep[row].sum())):
            if [k for k, _ in groupby(path) if k != blank] == l[row][l_keep[row]].tolist():
                total += prod(p[row][t][k] for t, k in enumerate(path))
        assert float((-loss).exp()) == pytest.approx(total, rel=1e-12)


def test_posteriors_sum_to_one_at_every_frame() -> None:
    logits, keep, l, l_keep = random_cases(3)
    total = ctc.posteriors(logits.log_softmax(dim=2), keep, l, l_keep).sum(dim=2)
    torch.testing.assert_close(total, keep.double(), rtol=0.0, atol=1e-10)


def test_one_row_alone_equals_the_row_in_a_batch() -> None:
    logits, keep, l, l_keep = random_cases(4)
    log_y = logits.log_softmax(dim=2)
    for loss in (ctc.ctc, fast.ctc):
        together = loss(log_y, keep, l, l_keep)
        for row in range(0, 50, 7):
            S, T = int(keep[row].sum()), int(l_keep[row].sum())
            one = (log_y[row, :S], keep[row, :S], l[row, :T], l_keep[row, :T])
            torch.testing.assert_close(loss(*(x.unsqueeze(0) for x in one))[0], together[row])


@given(st.lists(st.integers(0, 2), max_size=6), st.integers(1, 8))
def test_refuses_what_has_no_path(l: list[int], frames: int) -> None:
    """A labelling is refused if and only if the loss says that it has probability 0."""
    log_y = torch.zeros(1, frames, 4).log_softmax(dim=2)
    row = torch.tensor([l], dtype=torch.int64)
    case = (log_y, torch.ones(1, frames, dtype=torch.bool), row, torch.ones_like(row, dtype=torch.bool))
    is_impossible = bool(fast.ctc(*case).isinf())
    assert is_impossible == bool(ctc.ctc(*case) > 1e29)
    assert is_impossible == (frames_needed(l) > frames)


def test_says_which_target_is_impossible() -> None:
    refuse_impossible([1, 1, 2], 4, where="train.txt:7", hint="")
    with pytest.raises(DataError) as error:
        refuse_impossible([1, 1, 2], 3, where="train.txt:7", hint="Use less subsampling.")
    assert str(error.value) == (
        "The target needs 4 frames, but its source has 3.\n"
        "  where     train.txt:7\n"
        "  expected  at least 4 frames for 3 labels, 1 of them equal to the one before, "
        "which needs a blank between\n"
        "  fix       Use less subsampling."
    )
