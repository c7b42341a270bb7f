import math

import torch

from dragoman.nn.position import sinusoids


def test_sinusoids_are_the_formula_in_halves_from_zero() -> None:
    table = sinusoids(50, 6).double()
    for pos in (0, 1, 7, 49):
        for i in range(3):
            angle = pos / 10000 ** (2 * i / 6)
            assert abs(table[pos, i] - math.sin(angle)) < 1e-6
            assert abs(table[pos, 3 + i] - math.cos(angle)) < 1e-6


def test_odd_sizes_have_a_column_for_each_feature() -> None:
    assert sinusoids(4, 5).shape == torch.Size([4, 5])
