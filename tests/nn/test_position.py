"""Positions: the sinusoids' formula, what rotation and relative biases promise about distances."""

import math

import pytest
import torch

from dragoman.nn.attention.multihead import KeyValue, SelfAttention
from dragoman.nn.position import Relation, RelativeBias, Rotary, distances, sinusoids


def test_sinusoids_are_the_formula_in_halves_from_zero() -> None:
    table = sinusoids(50, 6).double()
    for pos in (0, 1, 7, 49):
        for i in range(3):
            angle = pos / 10000 ** (2 * i / 6)
            assert abs(table[pos, i] - math.sin(angle)) < 1e-6
            assert abs(table[pos, 3 + i] - math.cos(angle)) < 1e-6


def test_odd_sizes_have_a_column_for_each_feature() -> None:
    assert sinusoids(4, 5).shape == torch.Size([4, 5])


def test_rotary_turns_each_pair_by_its_angle() -> None:
    rotary = Rotary(30, 6).double()
    rotary.table = sinusoids(30, 6).double()
    x = torch.randn(1, 1, 4, 6, dtype=torch.float64)
    turned = rotary.turn(x, 20)
    for t in range(4):
        for i in range(3):
            angle = (20 + t) / 10000 ** (2 * i / 6)
            pair = torch.view_as_complex(x[0, 0, t, [i, 3 + i]]) * complex(math.cos(angle), math.sin(angle))
            assert abs(complex(*turned[0, 0, t, [i, 3 + i]]) - complex(pair)) < 1e-6


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
def test_relations_work_step_by_step(relation: Relation) -> None:
    torch.manual_seed(0)
    attention = SelfAttention(8, 2, 0.0, relation=relation).double()
    x = torch.randn(2, 9, 8, dtype=torch.float64)
    whole = attention(x.flatten(0, 1), (2, 9), attention.hide_future(x[0], 9)).view(2, 9, 8)
    empty = torch.empty(2, 2, 0, 4, dtype=torch.float64)
    past = KeyValue(empty, empty)
    for t in range(9):
        c, past = attention.step(x[:, t], past, t)
        assert torch.allclose(c, whole[:, t], atol=1e-12)


@pytest.mark.parametrize("relation", [Rotary(3, 4), RelativeBias(2, ahead=True, buckets=4)])
def test_relations_pass_gradcheck(relation: Relation) -> None:
    attention = SelfAttention(8, 2, 0.0, relation=relation).double()
    x = torch.randn(3, 8, dtype=torch.float64, requires_grad=True)
    parameters = tuple(attention.relation.parameters())
    assert torch.autograd.gradcheck(lambda x, *_: attention(x, (1, 3), None), (x, *parameters))
