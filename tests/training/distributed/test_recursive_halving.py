"""Sums over ranks against the sum of one rank: the same bits, and no more than 2(R−1)/R of the tensor sent.

Ranks are threads here, and send through queues. `test_same_bits.py` has whole runs by gloo.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import SimpleQueue

import pytest
import torch
from torch import Tensor, nn

from dragoman.training.distributed.ranks import Ranks
from dragoman.training.distributed.recursive_halving import Partition
from dragoman.training.distributed.tree_sum import CHUNK, chunk_norms, norm_of, tree_sum
from dragoman.training.optim.adam import Adam
from dragoman.training.optim.flat_parameters import FlatParameters

Lines = dict[tuple[int, int], "SimpleQueue[list[Tensor]]"]


@dataclass(frozen=True)
class QueueRanks(Ranks):
    lines: Lines = field(default_factory=dict)
    sent: list[int] = field(default_factory=list)  # elements

    def swap(self, sent: Sequence[Tensor], received: Sequence[Tensor], partner: int, doing: str) -> None:
        self.sent.append(sum(x.numel() for x in sent))
        self.lines[self.rank, partner].put([x.clone() for x in sent])
        for x, other in zip(received, self.lines[partner, self.rank].get(timeout=20), strict=False):
            x.copy_(other)


def on_ranks(count: int, work: Callable[[QueueRanks], Tensor]) -> list[tuple[QueueRanks, Tensor]]:
    lines: Lines = {(a, b): SimpleQueue() for a in range(count) for b in range(count)}
    ranks = [QueueRanks(rank, count, None, lines) for rank in range(count)]
    with ThreadPoolExecutor(count) as pool:
        return list(zip(ranks, pool.map(work, ranks), strict=True))


def flat() -> FlatParameters:
    model = nn.Sequential(nn.Linear(256, 300), nn.LayerNorm(300), nn.Linear(300, 77))
    parameters = FlatParameters(model, torch.float32)
    parameters.master.copy_(gradient_of(99, len(parameters)))
    return parameters


def gradient_of(rank: int, size: int) -> Tensor:
    draw = torch.Generator().manual_seed(rank)
    return torch.randn(size, generator=draw) * 10.0 ** torch.randn(size, generator=draw)


@pytest.mark.parametrize("count", [1, 2, 4, 8, 16])
def test_the_sum_has_the_bits_of_the_tree(count: int) -> None:
    size, cuts = len(flat()), flat().cuts(count)

    def summed(ranks: QueueRanks) -> Tensor:
        x, extra = gradient_of(ranks.rank, size), torch.tensor([float(ranks.rank), 7.0])
        partition = Partition(ranks, cuts)
        partition.reduce_scatter(x, extra, "update 7")
        assert extra.tolist() == [count * (count - 1) / 2, 7.0 * count]
        partition.all_gather(x, "update 7")
        return x

    whole = tree_sum(gradient_of(rank, size) for rank in range(count))
    for ranks, x in on_ranks(count, summed):
        assert torch.equal(x, whole)
        assert sum(ranks.sent) <= 1.02 * 2 * (count - 1) / count * size + CHUNK * count


@pytest.mark.parametrize("count", [2, 4, 8])
def test_norms_and_updates_by_parts_have_the_bits_of_the_whole(count: int) -> None:
    """The fused kernel rounds differently in an incomplete SIMD vector, so where parts are cut matters."""

    def updated(ranks: Ranks) -> Tensor:
        parameters = flat()
        partition = Partition(ranks, parameters.cuts(ranks.count))
        adam = Adam(parameters, partition.mine, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.1, decoupled=True)
        for step in range(3):
            adam.step(gradient_of(step, len(parameters))[partition.mine], 1e-3)
        moments = torch.zeros(len(parameters))
        moments[partition.mine] = adam.moments["exp_avg_sq"]
        partition.all_gather(moments, "update 3")
        partition.all_gather(parameters.master, "update 3")
        return torch.stack((parameters.master, moments))

    whole = updated(Ranks())
    for _, parts in on_ranks(count, updated):
        assert torch.equal(parts, whole)


@pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK, 3 * CHUNK + 5])
def test_a_norm_by_chunks_is_the_norm(size: int) -> None:
    x = gradient_of(0, size)
    assert norm_of(chunk_norms(x), size // CHUNK) == pytest.approx(float(x.double().norm()), rel=1e-6)


def test_the_first_rank_gathers_all_parts() -> None:
    size, cuts = len(flat()), flat().cuts(4)

    def gathered(ranks: QueueRanks) -> Tensor:
        partition = Partition(ranks, cuts)
        x = torch.full((size,), torch.nan)
        x[partition.mine] = gradient_of(9, size)[partition.mine]
        partition.gather(x, "a checkpoint")
        return x

    assert torch.equal(on_ranks(4, gathered)[0][1], gradient_of(9, size))


def test_small_models_are_not_cut_within_vectors() -> None:
    parameters = FlatParameters(nn.Linear(10, 10), torch.float32)
    assert parameters.cuts(4) == [0, 0, 0, 0, 110]
