"""A language model fused into translation, from texts to results."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.config.search import SearchConfig
from dragoman.errors import ModelError, UsageError
from dragoman.inference.runtimes.torch import TorchRuntime
from dragoman.tasks.load import load
from support.tiny_bundle import TRANSFORMER, WORDS, saved, tiny, tiny_folder, tiny_lm

TEXTS = ["a b c", "d e f", "g h"]


def texts_of(runtime: TorchRuntime, weight: float) -> list[str]:
    search = SearchConfig(size=4, max_length=8, lm_weight=weight)
    return [result.text for result in runtime(TEXTS, search)]


@pytest.mark.parametrize("seed", [1, 2])
def test_a_weight_of_zero_changes_nothing_and_a_large_one_much(seed: int) -> None:
    alone, fused = TorchRuntime(tiny()), TorchRuntime(tiny(), lm=tiny_lm(seed=seed))
    assert texts_of(fused, 0.0) == texts_of(alone, 0.0)
    assert texts_of(fused, 5.0) != texts_of(alone, 5.0)


def test_fused_outputs_are_the_same_alone_and_in_a_batch() -> None:
    fused = TorchRuntime(tiny(), lm=tiny_lm(TRANSFORMER))
    search = SearchConfig(size=4, max_length=8, lm_weight=0.5)
    assert [fused([text], search)[0].tokens for text in TEXTS] == [r.tokens for r in fused(TEXTS, search)]


def test_another_vocabulary_or_another_task_is_refused() -> None:
    for other in (tiny_lm(words=WORDS[:-1]), tiny(seed=2)):
        with pytest.raises(ModelError, match="target vocabulary"):
            TorchRuntime(tiny(), lm=other)


def test_folders_and_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tiny_folder(tmp_path / "model")
    lm = saved(tmp_path / "lm", tiny_lm())
    fused = load(model, lm=lm)
    expected = fused("a b c", {"lm_weight": 4.0}).text
    assert main(["run", str(model), "a b c", "--lm", str(lm), "--lm-weight", "4"]) == 0
    assert capsys.readouterr().out.splitlines() == [expected]
    with pytest.raises(UsageError, match="PyTorch only"):
        load(model, lm=lm, runtime="ct2")
