"""The light runtime beside torch: the same results of the same model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ctranslate2")

from dragoman.errors import MissingExtra, ModelError, UsageError
from dragoman.inference import engines
from dragoman.inference.abilities import ABILITIES
from dragoman.inference.model import Model, load
from dragoman.inference.result import EMPTY, Result
from inference.light_folder import LINES, light_folder

TEXTS = ["the cat", "", "a dog and a cat on the mat and there", " ", "Donau", "is is is no two dogs", *LINES]
GREEDY = {"kind": "greedy"}
LOOSE = 5e-4  # random weights are large, and so are the logits


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return light_folder(tmp_path_factory.mktemp("light") / "model")


@pytest.fixture(scope="module")
def light(folder: Path) -> Model:
    return load(folder)


@pytest.fixture(scope="module")
def torch(folder: Path) -> Model:
    return load(folder, runtime="torch")


def assert_alike(mine: Result, theirs: Result) -> None:
    exact = ("text", "truncated", "tokens", "flags", "alignment", "trace", "terms")
    assert [getattr(mine, name) for name in exact] == [getattr(theirs, name) for name in exact]
    assert mine.score == pytest.approx(theirs.score, abs=LOOSE)
    assert mine.confidence == pytest.approx(theirs.confidence)
    pairs = list(zip(mine.details or (), theirs.details or (), strict=True))
    for ours, other in pairs:
        assert (ours.piece, ours.at, ours.source) == (other.piece, other.at, other.source)
        assert ours.log_p == pytest.approx(other.log_p, abs=LOOSE)
        assert ours.entropy == pytest.approx(other.entropy, abs=LOOSE)


def test_an_export_in_the_folder_is_what_runs_it(light: Model, torch: Model) -> None:
    assert (light.runtime.name, torch.runtime.name) == ("ct2", "torch")


def test_a_model_whose_folder_holds_no_export_runs_by_torch(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "model").symlink_to(folder)
    with pytest.raises(UsageError, match="no export that ct2 runs"):
        load(light_folder_without_export(folder, tmp_path), runtime="ct2")
    assert load(tmp_path / "bare").runtime.name == "torch"


def light_folder_without_export(folder: Path, place: Path) -> Path:
    import shutil

    return Path(shutil.copytree(folder, place / "bare", ignore=shutil.ignore_patterns("ct2")))


@pytest.mark.parametrize("prefix", ["", "the c", "the ", "a dog and", "T"])
@pytest.mark.parametrize("longest", [24, 4])
def test_greedy_results_are_those_of_torch(light: Model, torch: Model, prefix: str, longest: int) -> None:
    """Even of a model that babbles: the same loops are cut at the same places."""
    search = {**GREEDY, "max_length": longest + len(prefix)}
    mine, theirs = (model(TEXTS, search, prefix=prefix, details=True) for model in (light, torch))
    assert any("repetition" in result.flags for result in mine)
    for pair in zip(mine, theirs, strict=True):
        assert_alike(*pair)
    assert [result for result in mine if result == EMPTY] == [EMPTY] * 2
