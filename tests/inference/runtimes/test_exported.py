"""The light runtime beside torch: the same results of the same model."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from dragoman.config.search import SearchConfig
from dragoman.errors import MissingExtra, ModelError, UsageError
from dragoman.inference import model as loading
from dragoman.inference.model import Model, load
from dragoman.inference.result import EMPTY, Result
from dragoman.inference.runtimes import exports as engines
from dragoman.inference.runtimes.ct2 import CTranslate2Engine
from dragoman.inference.runtimes.exported import ExportRuntime
from dragoman.models.bundle import add_calibration
from dragoman.search.repetition import LOOP_REPEATS, LoopBounds, first_excess_repeat
from support.exported_folder import CALIBRATION, LINES, exported_folder

TEXTS = ["the cat", "", "a dog and a cat on the mat and there", " ", "Donau", "is is is no two dogs", *LINES]
GREEDY = {"kind": "greedy"}
LOOSE = 5e-4  # random weights are large, and so are the logits


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """It babbles: most of its outputs are loops."""
    return exported_folder(tmp_path_factory.mktemp("light") / "model")


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
    assert mine.confidence == pytest.approx(theirs.confidence, abs=LOOSE)
    for ours, other in zip(mine.details or (), theirs.details or (), strict=True):
        assert (ours.piece, ours.at, ours.source) == (other.piece, other.at, other.source)
        assert ours.log_p == pytest.approx(other.log_p, abs=LOOSE)
        assert ours.entropy == pytest.approx(other.entropy, abs=LOOSE)
        assert ours.confidence == pytest.approx(other.confidence, abs=LOOSE)


@pytest.mark.parametrize("prefix", ["", "the c", "the ", "a dog and", "T"])
@pytest.mark.parametrize("longest", [24, 4])
def test_greedy_results_are_those_of_torch(light: Model, torch: Model, prefix: str, longest: int) -> None:
    """Loops are cut at the same places, and a prefix goes on in the same pieces."""
    search = {**GREEDY, "max_length": longest + len(prefix)}
    mine, theirs = (model(TEXTS, search, prefix=prefix, details=True) for model in (light, torch))
    assert any("repetition" in result.flags for result in mine)
    for pair in zip(mine, theirs, strict=True):
        assert_alike(*pair)
    assert [result for result in mine if result == EMPTY] == [EMPTY] * 2


def test_a_prefix_may_be_longer_than_the_output(light: Model, torch: Model) -> None:
    for search in ({**GREEDY, "max_length": 3}, {"size": 3, "max_length": 3}):
        mine, theirs = (model("two dogs", search, prefix="a dog and a cat on") for model in (light, torch))
        assert_alike(mine, theirs)
        assert mine.truncated


def test_the_alternatives_of_a_beam_are_those_of_torch(tmp_path: Path) -> None:
    folder = exported_folder(tmp_path / "model", babbles=False)
    light, torch = load(folder), load(folder, runtime="torch")
    search = {"size": 4, "n_best": 3, "guard": False, "stop": "n_best"}
    pairs = list(zip(light(LINES, search, details=True), torch(LINES, search, details=True), strict=True))
    for mine, theirs in pairs:
        assert_alike(mine, theirs)
        assert [a.text for a in mine.alternatives] == [a.text for a in theirs.alternatives]
        scores = [a.score for a in mine.alternatives]
        assert scores == pytest.approx([a.score for a in theirs.alternatives], abs=LOOSE)
        assert mine.alternatives[0][:2] == (mine.text, mine.score)
    assert len({mine.text for mine, _ in pairs}) > 1


def test_a_beam_that_babbles_is_cut_and_flagged(light: Model) -> None:
    results = [result for result in light(TEXTS, {"size": 3}) if result != EMPTY]
    assert sum("repetition" in result.flags for result in results) > len(results) / 2
    read = [light.runtime.text.src.encode(text) for text in TEXTS if text.strip()]
    loops = LoopBounds(1, LOOP_REPEATS)
    assert all(loops.cut_at(*pair) is None for pair in zip(read, (r.tokens for r in results), strict=True))
    assert any(
        first_excess_repeat(result.tokens, LOOP_REPEATS)
        for result in light(TEXTS, {"size": 3, "guard": False})
    )


@pytest.mark.parametrize("prefix", ["", "the c"])
def test_what_is_streamed_is_what_greedy_search_gives(light: Model, torch: Model, prefix: str) -> None:
    for text in TEXTS:
        whole = light(text, GREEDY, prefix=prefix)
        for model in (light, torch):
            parts = list(model.stream(text, prefix=prefix))
            assert "".join(parts) == whole.text
            assert all(parts)
            assert bool(parts) == bool(whole.text)


def test_a_stream_may_be_left(light: Model) -> None:
    assert next(light.stream("the cat sat on the mat")) == next(light.stream("the cat sat on the mat"))


LEFT = {
    "by a break": "for part in parts:\n    break",
    "suspended": "print(next(parts))",
    "closed": "next(parts); parts.close()",
    "read to its end": "print(list(parts))",
}


@pytest.mark.slow
@pytest.mark.parametrize("how", LEFT)
def test_a_process_ends_well_however_its_stream_was_left(folder: Path, how: str) -> None:
    """At the level of a module: what is alive at the end of the process ends with it."""
    begin = f"import dragoman as dg\nmodel = dg.load({str(folder)!r})\n"
    stream = 'parts = model.stream("a dog and a cat", {"guard": False, "max_length": 200})\n'
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-c", begin + stream + LEFT[how]], capture_output=True, text=True, timeout=60
        )
        assert (done.returncode, done.stderr) == (0, "")


def test_a_stream_that_is_left_ends_its_search(light: Model) -> None:
    stream = light.stream("a dog and a cat", {"guard": False, "max_length": 250})
    assert isinstance(light.runtime, ExportRuntime)
    assert isinstance(light.runtime.engine, CTranslate2Engine)
    next(stream)
    assert isinstance(stream, Generator)
    stream.close()
    begin = time.monotonic()
    while light.runtime.engine.translator.num_active_batches:
        assert time.monotonic() < begin + 5


def test_what_only_torch_can_goes_to_torch(folder: Path, torch: Model) -> None:
    light = load(folder)
    for search, asked in ASKED_OF_TORCH:
        assert light("the cat", search, **asked) == torch("the cat", search, **asked)
    assert light.runtime.name == "ct2"


ASKED_OF_TORCH: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"kind": "sample", "seed": 3}, {}),
    ({"size": 4, "groups": 2}, {}),
    ({"length_norm": "gnmt"}, {}),
    ({"min_length": 6}, {}),
    ({}, {"trace": True}),
    ({}, {"forbid": ["cat"]}),
    ({}, {"glossary": {"cat": "mat"}}),
]

KEPT = ("{name}", "%s", "<b>", "</b>", "ACME-7")
WITH_KEPT = ["the {name} cat %s", "{name}", "<b>a dog</b> and a cat.", "Donau ACME-7", "no two dogs", ""]


@pytest.mark.parametrize("prefix", ["", "the c"])
@pytest.mark.parametrize("search", [GREEDY, {"size": 4, "n_best": 3}])
def test_what_is_to_be_kept_is_kept_without_torch(light: Model, search: dict[str, Any], prefix: str) -> None:
    keep = ["tags", "placeholders", re.compile(r"ACME-\d")]
    results = light(WITH_KEPT, search, keep=keep, prefix=prefix)
    for text, result in zip(WITH_KEPT, results, strict=True):
        for output in (result.text, *(other.text for other in result.alternatives)):
            assert [output.count(one) for one in KEPT] == [text.count(one) for one in KEPT]
        assert all(term.met for term in result.terms)


@pytest.mark.parametrize("prefix", ["", "the c"])
def test_what_is_kept_stands_where_torch_puts_it(light: Model, torch: Model, prefix: str) -> None:
    mine, theirs = (model(WITH_KEPT, GREEDY, keep=True, prefix=prefix) for model in (light, torch))
    assert [one.text for one in mine] == [one.text for one in theirs]
    assert [one.terms for one in mine] == [one.terms for one in theirs]


@pytest.mark.parametrize("prefix", ["", "the c"])
def test_positions_in_a_text_are_those_of_its_tokens_or_none(light: Model, torch: Model, prefix: str) -> None:
    for model in (light, torch):
        results = model([*WITH_KEPT, "two dogs"], GREEDY, keep=True, prefix=prefix, details=True)
        spelt = [model.runtime.text.tgt.decode(result.tokens) == result.text for result in results]
        assert [result.details is not None for result in results if result != EMPTY] == [
            is_same for is_same, result in zip(spelt, results, strict=True) if result != EMPTY
        ]
        assert all(result.alignment is None for result in results if result.details is None)
        for result in results:
            for token in result.details or ():
                assert result.text[slice(*token.at)] in token.piece.replace("▁", " ")
        assert any(result.details for result in results)


@pytest.mark.parametrize(("search", "asked"), ASKED_OF_TORCH)
def test_a_runtime_that_was_asked_for_says_what_it_cannot(
    folder: Path, search: dict[str, Any], asked: dict[str, Any]
) -> None:
    with pytest.raises(UsageError, match="The runtime ct2 cannot do this: ") as caught:
        load(folder, runtime="ct2")("the cat", search, **asked)
    assert 'pip install "dragoman[train]"' in caught.value.hint


def test_without_torch_the_same_words(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = load(folder)
    monkeypatch.setattr(loading, "is_installed", lambda package: package != "torch")
    with pytest.raises(UsageError, match=r"seeded samples \(search.kind\)"):
        model("the cat", {"kind": "sample"})
    with pytest.raises(MissingExtra, match="This needs PyTorch"):
        load(folder, runtime="torch")


def test_several_models_are_torch(folder: Path) -> None:
    assert load(folder, ensemble=[folder]).runtime.name == "torch"
    with pytest.raises(UsageError, match="Ensembles, reverse models"):
        load(folder, runtime="ct2", reverse=folder)


def test_the_export_alone_is_enough(folder: Path, light: Model, tmp_path: Path) -> None:
    alone = load(shutil.copytree(folder / "ct2", tmp_path / "alone"))
    assert alone(TEXTS) == light(TEXTS)
    with pytest.raises(UsageError, match="cannot do this"):
        alone("the cat", trace=True)
    with pytest.raises(UsageError, match="This folder is an export"):
        load(tmp_path / "alone", runtime="torch")


def test_a_folder_without_an_export_runs_by_torch(folder: Path, tmp_path: Path) -> None:
    bare = shutil.copytree(folder, tmp_path / "bare", ignore=shutil.ignore_patterns("ct2"))
    assert load(bare).runtime.name == "torch"
    with pytest.raises(UsageError, match="no export for ct2") as caught:
        load(bare, runtime="ct2")
    assert caught.value.hint == f"dragoman export {bare} --to ct2"


def test_without_its_package_an_export_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "is_installed", lambda package: package != "ctranslate2")
    assert load(folder).runtime.name == "torch"
    with pytest.raises(MissingExtra, match="needs ctranslate2"):
        load(folder, runtime="ct2")


@pytest.mark.parametrize("file", ["model.bin", "settings.toml", "text/joint.model", "source_vocabulary.json"])
def test_a_damaged_export_is_refused(folder: Path, tmp_path: Path, file: str) -> None:
    broken = Path(shutil.copytree(folder, tmp_path / "broken"))
    path = broken / "ct2" / file
    if not path.exists():
        path = next(p for p in (broken / "ct2").iterdir() if "vocabulary" in p.name)
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    with pytest.raises(ModelError, match="The export is damaged") as caught:
        load(broken)
    assert path.name in caught.value.what


def test_a_calibration_is_used_and_leaves_the_export_whole(folder: Path, tmp_path: Path) -> None:
    model = Path(shutil.copytree(folder, tmp_path / "model"))
    add_calibration(model, CALIBRATION)
    mine, theirs = load(model, runtime="ct2"), load(model, runtime="torch")
    for pair in zip(mine(TEXTS, GREEDY, details=True), theirs(TEXTS, GREEDY, details=True), strict=True):
        assert_alike(*pair)
    assert mine("the cat").confidence is not None
    (model / "calibration.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ModelError, match=r"calibration\.json"):
        load(model, runtime="ct2")


def test_long_sources_are_read_in_part_and_said_to_be(light: Model, torch: Model) -> None:
    long = "the cat sat on a dog and " * 200
    search = SearchConfig(kind="greedy", max_length=5)
    mine, theirs = light(long, search), torch(long, search)
    assert_alike(mine, theirs)
    assert mine.truncated
