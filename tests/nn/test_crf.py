"""The CRF beside the sum over all tag sequences, and beside what it forbids."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch

from dragoman.nn.crf import CRF, iob_forbidden
from dragoman.search.tags import Chain, Floats, Ints, forward, logsumexp, marginals, viterbi
from dragoman.shapes import Tensor

NAMES = ["O", "B-a", "I-a", "B-b", "I-b"]
# Tags and words of five batches of 100 sentences; lengths are drawn.
SIZES = [(2, 6), (3, 5), (4, 4), (5, 4), (3, 1)]


def case(tags: int, words: int, rows: int = 100) -> tuple[CRF, Tensor, Tensor]:
    torch.manual_seed(tags * 10 + words)
    crf = CRF(tags).double()
    for p in crf.parameters():
        torch.nn.init.normal_(p, std=2.0)
    keep = torch.arange(words) < torch.randint(1, words + 1, (rows, 1))
    return crf, torch.randn(rows, words, tags, dtype=torch.float64) * 3, keep


def enumerated(crf: CRF, P: Tensor, length: int) -> tuple[Tensor, Tensor]:
    """All sequences of one sentence and their scores, by the definition."""
    y = torch.tensor(list(product(range(P.shape[1]), repeat=length)))
    s = crf.start[y[:, 0]] + crf.end[y[:, -1]]
    for t in range(length):
        s = s + P[t, y[:, t]]
        if t:
            s = s + crf.A[y[:, t - 1], y[:, t]]
    return y, s


def chain(crf: CRF) -> Chain:
    start, steps = crf.allowed()
    return Chain(*(x.detach().numpy() for x in (start, steps, crf.end)))


def best_of(crf: CRF, P: Tensor, keep: Tensor) -> tuple[Ints, Floats]:
    return viterbi(P.detach().numpy(), keep.numpy(), chain(crf))


def marginals_of(crf: CRF, P: Tensor, keep: Tensor) -> Tensor:
    return torch.from_numpy(marginals(P.detach().numpy(), keep.numpy(), chain(crf)))


@pytest.mark.parametrize(("tags", "words"), SIZES)
def test_partition_viterbi_and_marginals_equal_enumeration(tags: int, words: int) -> None:
    crf, P, keep = case(tags, words)
    log_Z, marginals = crf.log_Z(P, keep), marginals_of(crf, P, keep)
    best, score = map(torch.from_numpy, best_of(crf, P, keep))
    for row, length in enumerate(keep.sum(dim=1).tolist()):
        y, s = enumerated(crf, P[row], length)
        torch.testing.assert_close(log_Z[row], s.logsumexp(dim=0), rtol=1e-12, atol=1e-12)
        assert torch.equal(best[row, :length], y[s.argmax()])
        assert not best[row, length:].any()
        torch.testing.assert_close(score[row], s.max(), rtol=1e-12, atol=1e-12)
        p = torch.softmax(s, dim=0)
        expected = torch.stack([((y == tag) * p[:, None]).sum(dim=0) for tag in range(tags)], dim=1)
        torch.testing.assert_close(marginals[row, :length], expected, rtol=0.0, atol=1e-12)
        torch.testing.assert_close(
            crf.nll(P[row : row + 1], best[row : row + 1], keep[row : row + 1])[0],
            -p.max().log(),
            rtol=1e-9,
            atol=1e-12,
        )


def test_gradient_is_what_is_expected_less_what_is_seen() -> None:
    crf, P, keep = case(4, 5)
    P.requires_grad_()
    y = torch.randint(4, keep.shape)
    crf.nll(P, y, keep).sum().backward()
    seen = torch.nn.functional.one_hot(y, 4)
    assert P.grad is not None
    expected = (marginals_of(crf, P, keep) - seen) * keep.unsqueeze(2)
    torch.testing.assert_close(P.grad, expected, rtol=0.0, atol=1e-12)


def test_gradients_by_finite_differences() -> None:
    crf, P, keep = case(3, 3, rows=4)
    y = torch.randint(3, keep.shape)
    given = [P.requires_grad_(), *crf.parameters()]
    assert torch.autograd.gradcheck(lambda *_: crf.nll(P, y, keep), given)


def test_one_sentence_alone_equals_in_a_batch() -> None:
    crf, P, keep = case(5, 4)
    tags, scores = best_of(crf, P, keep)
    p = marginals_of(crf, P, keep)
    for row, length in enumerate(keep.sum(dim=1).tolist()):
        one = P[row : row + 1, :length], keep[row : row + 1, :length]
        alone, score = best_of(crf, *one)
        assert (alone[0] == tags[row, :length]).all()
        assert score[0] == scores[row]
        assert torch.equal(marginals_of(crf, *one)[0], p[row, :length])


def test_the_forward_algorithm_of_answers_is_that_of_the_loss() -> None:
    crf, P, keep = case(5, 4)
    alpha = forward(P.numpy(), keep.numpy(), chain(crf))
    log_Z = logsumexp(alpha[-1] + chain(crf).end, axis=1)
    np.testing.assert_allclose(log_Z, crf.log_Z(P, keep).detach().numpy(), rtol=1e-12)


def test_answers_are_well_formed_however_the_scores_are() -> None:
    crf, P, keep = case(len(NAMES), 4, rows=300)
    crf.forbid(*iob_forbidden(NAMES))
    for row, path in enumerate(best_of(crf, P, keep)[0].tolist()):
        before = "O"
        for id in path[: int(keep[row].sum())]:
            kind = NAMES[id]
            assert not kind.startswith("I-") or before[1:] == kind[1:], (row, path)
            before = kind
    assert marginals_of(crf, P, keep)[:, 0, [2, 4]].max() == 0.0


def test_no_gradient_is_lost_where_a_tag_is_forbidden() -> None:
    crf, P, keep = case(len(NAMES), 4)
    crf.forbid(*iob_forbidden(NAMES))
    crf.nll(P.requires_grad_(), torch.full(keep.shape, 2), keep).sum().backward()
    assert P.grad is not None
    assert P.grad.isfinite().all()


def test_only_iob2_is_restricted() -> None:
    start, steps = iob_forbidden(NAMES)
    assert start.tolist() == [False, False, True, False, True]
    assert [NAMES[to] for to in range(5) if steps[1, to]] == ["I-b"]
    assert [NAMES[to] for to in range(5) if steps[0, to]] == ["I-a", "I-b"]
    start, steps = iob_forbidden(["NOUN", "VERB", "I-x"])
    assert not start.any()
    assert not steps.any()
