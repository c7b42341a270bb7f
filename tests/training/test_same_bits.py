"""A run that was interrupted anywhere gives the bits of one that was not."""

import signal
from pathlib import Path
from typing import Any

import pytest

from dragoman.config.load import load
from dragoman.errors import UsageError
from dragoman.training.run import Run
from support.runs import RNN, SAMPLING, TRANSFORMER, StopAt, record, settings

# All that is drawn in training beside dropout.
DEPTH = {**TRANSFORMER, "layers": 2, "layer_drop": 0.3, "stochastic_depth": 0.3, "positions": "relative"}


@pytest.mark.parametrize(
    ("part", "training"),
    [
        pytest.param(TRANSFORMER, {"precision": "fp32"}, marks=pytest.mark.slow),
        (TRANSFORMER, {"precision": "bf16"}),
        pytest.param(DEPTH, {"precision": "bf16"}, marks=pytest.mark.slow),
        (RNN, {"precision": "fp32"}),
        pytest.param(RNN, {"objective": SAMPLING}, marks=pytest.mark.slow),
    ],
    ids=["transformer", "transformer bf16", "layers left out", "rnn", "scheduled sampling"],
)
def test_stopped_and_resumed_equals_uninterrupted(
    words: Path, tmp_path: Path, part: dict[str, Any], training: dict[str, Any]
) -> None:
    config = load(None, base=settings(words, part, **training))
    Run(config, tmp_path / "whole", [], lambda _: True).train()
    for stop in (1, 9):
        outcome = Run(config, tmp_path / "halved", [StopAt(stop)], lambda _: True).train()
        assert outcome.reason == "asked"
        assert outcome.signal == signal.SIGINT
    assert Run(config, tmp_path / "halved", [], lambda _: True).train().reason == "done"
    assert record(tmp_path / "halved") == record(tmp_path / "whole")


def test_a_damaged_checkpoint_is_passed_over(words: Path, tmp_path: Path) -> None:
    config = load(None, base=settings(words, TRANSFORMER))
    Run(config, tmp_path / "whole", [], lambda _: True).train()
    Run(config, tmp_path / "hurt", [StopAt(9)], lambda _: True).train()
    newest = sorted((tmp_path / "hurt" / "checkpoints").iterdir())[-1]
    weights = newest / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-8] + b"12345678")
    Run(config, tmp_path / "hurt", [], lambda _: True).train()
    assert record(tmp_path / "hurt") == record(tmp_path / "whole")


@pytest.mark.parametrize(
    ("other", "words_of_it"),
    [
        ({"lr": 0.5}, r"training\.lr was 0\.004, is 0\.5"),
        ({"batch_tokens": 200}, r"batch_tokens was 300, is 200"),
    ],
)
def test_other_settings_are_refused(
    words: Path, tmp_path: Path, other: dict[str, Any], words_of_it: str
) -> None:
    Run(load(None, base=settings(words, TRANSFORMER)), tmp_path, [StopAt(4)], lambda _: True).train()
    with pytest.raises(UsageError, match=words_of_it):
        Run(load(None, base=settings(words, TRANSFORMER, **other)), tmp_path, [], lambda _: True).train()


def test_subword_regularisation_resumes_too(words: Path, tmp_path: Path) -> None:
    tables = settings(words, TRANSFORMER)
    tables["text"] = {"kind": "bpe", "size": 320, "sampling": 0.3}
    config = load(None, base=tables)
    Run(config, tmp_path / "whole", [], lambda _: True).train()
    Run(config, tmp_path / "halved", [StopAt(5)], lambda _: True).train()
    Run(config, tmp_path / "halved", [], lambda _: True).train()
    assert record(tmp_path / "halved") == record(tmp_path / "whole")


def test_sampled_softmax_resumes_too(words: Path, tmp_path: Path) -> None:
    tables = settings(words, TRANSFORMER)
    tables["text"] = {"kind": "bpe", "size": 320}
    tables["model"]["head"] = {"kind": "sampled", "size": 200}  # more than the words of a batch
    config = load(None, base=tables)
    Run(config, tmp_path / "whole", [], lambda _: True).train()
    Run(config, tmp_path / "halved", [StopAt(5)], lambda _: True).train()
    Run(config, tmp_path / "halved", [], lambda _: True).train()
    assert record(tmp_path / "halved") == record(tmp_path / "whole")
