"""Weights that are finite and scores that are not: words from every engine, and JSON that is JSON."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.cli.main import main
from dragoman.cli.verbs.run import as_json
from dragoman.config.search import SearchConfig
from dragoman.errors import ModelError
from dragoman.inference.result import EMPTY
from dragoman.inference.runtimes.ct2 import CTranslate2Engine
from dragoman.models.bundle import save_bundle
from support.exported_folder import exported_folder, lively_bundle
from support.tiny_bundle import tiny

SEARCHES = [
    ["search.kind=greedy"],
    ["search.size=3"],
    ["search.kind=sample"],
    ["search.kind=mbr", "search.samples=4"],
    ["search.size=4", "search.groups=2"],
]


@pytest.fixture(scope="module")
def overflowing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each weight is a number, and infinity minus infinity is not."""
    folder, bundle = tmp_path_factory.mktemp("nan") / "model", tiny()
    weights = {name: p.detach() for name, p in bundle.model.named_parameters()}
    name = next(name for name in weights if name.endswith("ffn.W_1.weight") or "ffn" in name)
    weights[name] = torch.full_like(weights[name], 3e38)
    save_bundle(folder, bundle.config, bundle.text, weights, "A tiny model.\n")
    return folder


@pytest.mark.parametrize("search", SEARCHES, ids=" ".join)
def test_scores_that_overflow_are_an_error_in_words(
    overflowing: Path, capsys: pytest.CaptureFixture[str], search: list[str]
) -> None:
    assert main(["run", str(overflowing), "a b c", "--json", *search]) == 1
    out, err = capsys.readouterr()
    assert not out
    assert "The model returns NaN" in err
    assert "dragoman check" in err
    assert "bug in Dragoman" not in err


@pytest.mark.parametrize("kind", ["greedy", "beam"])
def test_an_engine_that_gives_nan_is_not_believed(tmp_path: Path, kind: Any) -> None:
    folder = exported_folder(tmp_path / "model", babbles=False)
    bundle = lively_bundle({"data": {"train": str(tmp_path / "train.tsv")}, "search": {}}, babbles=False)
    broken = Path(shutil.copytree(folder / "ct2", tmp_path / "broken"))
    raw = (broken / "model.bin").read_bytes()
    bias = bundle.model.get_parameter("head.b").detach().numpy()
    assert raw.count(bias.tobytes()) == 1
    (broken / "model.bin").write_bytes(raw.replace(bias.tobytes(), np.full_like(bias, np.nan).tobytes()))
    engine = CTranslate2Engine(broken, bundle.text)
    sources = [bundle.text.src.encode("the cat sat")]
    with pytest.raises(ModelError, match="NaN"):
        engine.search(sources, SearchConfig(kind=kind, max_length=8))
    with pytest.raises(ModelError, match="NaN"):
        list(engine.stream(sources[0], SearchConfig(kind="greedy", max_length=8)))


def test_json_has_null_where_there_is_no_number() -> None:
    result = EMPTY._replace(score=float("-inf"), confidence=float("nan"), alignment=((0, 1),))
    line = as_json(result.asdict())
    assert json.loads(line, parse_constant=pytest.fail)["score"] is None
    assert json.loads(line)["alignment"] == [[0, 1]]
