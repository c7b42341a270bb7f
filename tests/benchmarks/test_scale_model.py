"""The model of scale keeps the laws it is made of."""

from __future__ import annotations

import pytest

from scale_model import LATENCY, NUMBERS_OF_GPUS, PAIRS, SIZES, epoch, seconds_to_sum

FAST = 1e9  # bytes per second


@pytest.mark.parametrize(("machines", "share"), [(2, 1.0), (4, 1.5), (8, 1.75), (1024, 2046 / 1024)])
def test_a_sum_moves_twice_the_gradient_at_most(machines: int, share: float) -> None:
    moved = seconds_to_sum(10**9, machines, FAST) * FAST / (4 * 10**9)
    assert moved == pytest.approx(share, abs=20 * LATENCY)


def test_one_gpu_sums_nothing() -> None:
    assert seconds_to_sum(10**9, 1, FAST) == 0.0


@pytest.mark.parametrize("parameters", SIZES)
def test_ten_times_the_pairs_take_ten_times_as_long(parameters: int) -> None:
    for gpus in NUMBERS_OF_GPUS:
        first, *more = (epoch(pairs, parameters, gpus).seconds for pairs in PAIRS)
        assert more == pytest.approx([10**power * first for power in range(1, len(PAIRS))])


def test_a_larger_model_takes_no_less_time() -> None:
    for gpus in NUMBERS_OF_GPUS:
        seconds = [epoch(10**9, parameters, gpus).seconds for parameters in SIZES]
        assert seconds == sorted(seconds)
