"""Positions: what rotation and relative biases promise about distances."""

import math

import pytest
import torch

from dragoman.nn.attention.multi_head import KeyValue, SelfAttention
from dragoman.nn.position import RelativeBias, RelativePositions, Rotary, distances, sinusoids


def test_odd_sizes_have_a_column_for_each_feature() -> None:
    assert sinusoids(4, 5).shape == torch.Size([4, 5])


def test_rotary_scores_depend_on_the_distance_alone() -> None:
    rotary = Rotary(500, 8)
    q, k = torch.randn(1, 1, 1, 8).double(), torch.randn(1, 1, 1, 8).double()
    e = [(rotary.turn(q, t + 7) * rotary.turn(k, t)).sum() for t in (0, 1, 90, 400)]
    assert torch.allclose(torch.stack(e), e[0], atol=1e-5)


def by_the_book(distance: int, *, ahead: bool) -> int:
    """Raffel et al. 2020: half of the buckets for single distances, the rest for logarithms up to 128."""
    buckets = 16 if ahead else 32
    size = abs(distance) if ahead else max(-distance, 0)
    near = buckets // 2
    if size >= near:
        share = math.log(size / near) / math.log(128 / near)
        size = min(buckets - 1, near + int(share * (buckets - near) + 1e-9))
    return size + (16 if ahead and distance > 0 else 0)


@pytest.mark.parametrize("ahead", [True, False])
def test_relative_bias_has_a_bucket_for_each_distance(ahead: bool) -> None:
    relation = RelativeBias(3, ahead=ahead).double()
    bias = relation.bias(300, 300, 0)
    for t, s in ((0, 0), (0, 1), (1, 0), (9, 2), (2, 14), (299, 283), (299, 0), (0, 299), (150, 20)):
        assert torch.equal(bias[:, t, s], relation.table[by_the_book(s - t, ahead=ahead)])


def test_relative_bias_of_a_part_is_a_part_of_the_bias() -> None:
    relation = RelativeBias(2, ahead=True)
    assert torch.equal(relation.bias(3, 10, 5), relation.bias(10, 10, 0)[:, 5:8])
    assert distances(1, 3, 2, torch.device("cpu")).tolist() == [[-2, -1, 0]]


@pytest.mark.parametrize("relation", [Rotary(9, 4), RelativeBias(2, ahead=False)])
def test_relations_work_step_by_step(relation: RelativePositions) -> None:
    torch.manual_seed(0)
    attention = SelfAttention(8, 2, 0.0, relation=relation).double()
    x = torch.randn(2, 9, 8, dtype=torch.float64)
    whole = attention(x.flatten(0, 1), (2, 9), attention.hide_future(x[0], 9)).view(2, 9, 8)
    empty = torch.empty(2, 2, 0, 4, dtype=torch.float64)
    past = KeyValue(empty, empty)
    for t in range(9):
        c, past = attention.step(x[:, t], past, t)
        assert torch.allclose(c, whole[:, t], rtol=0.0, atol=1e-12)
