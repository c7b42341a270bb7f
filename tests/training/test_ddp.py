"""DistributedDataParallel: any number of ranks, and the losses and checkpoints of `exact` within rounding."""

from pathlib import Path
from typing import Any

import pytest

from dragoman.config.load import load
from dragoman.errors import ConfigError, UsageError
from dragoman.training.distributed.ranks import Ranks
from dragoman.training.run import Run
from support.runs import RNN, SAMPLING, TRANSFORMER, record, settings, train

# The relative difference of losses and norms in 14 updates. Sums in another order differ in the last bits of
# fp32, 6e-8, and each update increases the difference.
ROUNDING = 2e-5


def losses(out: Path) -> list[float]:
    steps, _ = record(out)
    return [number for step in steps for number in step]


@pytest.mark.slow
def test_a_run_changes_between_exact_and_ddp(words: Path, tmp_path: Path) -> None:
    exact, ddp = (settings(words, TRANSFORMER, parallel=kind) for kind in ("exact", "ddp"))
    Run(load(None, base=exact), tmp_path / "exact", [], lambda _: True).train()
    train(exact, tmp_path / "moved", stop=5)
    train(ddp, tmp_path / "moved", ranks=2, stop=9)
    Run(load(None, base=exact), tmp_path / "moved", [], lambda _: True).train()
    assert losses(tmp_path / "moved") == pytest.approx(losses(tmp_path / "exact"), rel=ROUNDING)


LAYERS_LEFT_OUT = {**TRANSFORMER, "layers": 2, "layer_drop": 0.3}


@pytest.mark.slow
@pytest.mark.parametrize("micro_batches", [3, 4])  # four on three ranks: the last one has two
@pytest.mark.parametrize(
    ("part", "training", "head"),
    [
        (TRANSFORMER, {}, None),
        (LAYERS_LEFT_OUT, {}, None),
        (RNN, {"objective": SAMPLING}, None),
        (RNN, {}, {"kind": "adaptive"}),
    ],
    ids=["transformer", "layers left out", "scheduled sampling", "adaptive head"],
)
def test_three_ranks_have_the_losses_of_one(
    words: Path,
    tmp_path: Path,
    part: dict[str, Any],
    training: dict[str, Any],
    head: dict[str, Any] | None,
    micro_batches: int,
) -> None:
    tables = settings(words, part, parallel="ddp", micro_batches=micro_batches, **training)
    if head:
        tables["model"] |= {"head": head, "tied": "none"}
        tables["text"] = {"kind": "bpe", "size": 320}
    train(tables, tmp_path / "one")
    train(tables, tmp_path / "three", ranks=3)
    assert losses(tmp_path / "three") == pytest.approx(losses(tmp_path / "one"), rel=ROUNDING)


def test_ddp_needs_a_micro_batch_per_rank(words: Path, tmp_path: Path) -> None:
    run = Run(load(None, base=settings(words, RNN, parallel="ddp")), tmp_path, [], lambda _: True)
    assert run._with_micro_batches(Ranks(0, 3), None).config.training.micro_batches == 3
    with pytest.raises(ConfigError, match="parallel=ddp takes any number"):
        load(None, base=settings(words, RNN, micro_batches=3))
    few = Run(
        load(None, base=settings(words, RNN, parallel="ddp", micro_batches=2)), tmp_path, [], lambda _: True
    )
    with pytest.raises(UsageError, match=r"more ranks \(3\) than micro-batches \(2\)"):
        few._with_micro_batches(Ranks(0, 3), None)
