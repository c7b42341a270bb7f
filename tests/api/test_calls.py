"""Calls that are wrong: every one is a DragomanError, and none is taken for something else in silence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jaxtyping
import pytest

import dragoman as dg
from dragoman.errors import ConfigError, DataError, DragomanError, UsageError
from support.exported_folder import exported_folder

Call = Callable[[Any], object]

UNKNOWN: dict[str, tuple[Call, str]] = {
    "prefx": (lambda model: model("a dog", prefx="two"), "prefix"),
    "glosary": (lambda model: model("a dog", glosary={"dog": "cat"}), "glossary"),
    "detail": (lambda model: model(["a dog"], detail=True), "details"),
    "serach": (lambda model: model("a dog", serach={"size": 1}), "search"),
    "prefixes": (lambda model: model.stream("a dog", prefixes="two"), "prefix"),
    "runtme": (lambda model: dg.load(model.folder, runtme="ct2"), "runtime"),
    "worker": (lambda model: dg.load(model.folder, worker=2), "workers"),
    "lowercas": (lambda model: dg.score(model, "a.tsv", lowercas=True), "lowercase"),
    "budgt": (lambda model: dg.train("a.en", "a.de", out="x", budgt="3m"), "budget"),
}

TEXTS: dict[str, Call] = {
    "None": lambda model: model(None),
    "a number": lambda model: model(3),
    "bytes": lambda model: model(b"x"),
    "a dict": lambda model: model({"a": 1}),
    "a set": lambda model: model({"a"}),
    "a generator of numbers": lambda model: list(model(number for number in (1, 2))),
    "None in a list": lambda model: model(["a", None]),
    "bytes in a list": lambda model: model(["a", b"b"]),
    "half a character": lambda model: model("\ud800"),
    "a list to stream": lambda model: model.stream(["a"]),
    "None to stream": lambda model: model.stream(None),
    "bytes to stream": lambda model: model.stream(b"a"),
}

ASKED: dict[str, dict[str, Any]] = {
    "search, a number": {"search": 3},
    "search, a text": {"search": "beam"},
    "search, an unknown name": {"search": {"siez": 3}},
    "search, a name that is none": {"search": {3: 3}},
    "prefix, a number": {"prefix": 3},
    "prefix, bytes": {"prefix": b"a"},
    "prefix, too many": {"prefix": ["a", "b"]},
    "prefix, bytes in a list": {"prefix": [b"a"]},
    "forbid, a number": {"forbid": 3},
    "forbid, a number in a list": {"forbid": [3]},
    "forbid, bytes": {"forbid": b"abc"},
    "keep, a number": {"keep": 3},
    "keep, an unknown kind": {"keep": ["everything"]},
    "glossary, a number": {"glossary": 3},
    "glossary, no such file": {"glossary": "nosuch.tsv"},
    "glossary, a number as a term": {"glossary": {"a": 3}},
    "glossary, a number with a term": {"glossary": {3: "a"}},
    "glossary, numbers": {"glossary": [3]},
}

FILES: dict[str, Call] = {
    "load a number": lambda model: dg.load(3),  # type: ignore[arg-type]
    "load nothing": lambda model: dg.load(None),  # type: ignore[arg-type]
    "an unknown runtime": lambda model: dg.load(model.folder, runtime="tensorflow"),  # type: ignore[arg-type]
    "an ensemble of letters": lambda model: dg.load(model.folder, ensemble="abc"),
    "an ensemble of numbers": lambda model: dg.load(model.folder, ensemble=[3]),  # type: ignore[list-item]
    "a number in reverse": lambda model: dg.load(model.folder, reverse=3),  # type: ignore[arg-type]
    "workers in words": lambda model: dg.load(model.folder, workers="2"),  # type: ignore[arg-type]
    "no workers": lambda model: dg.load(model.folder, workers=0),
    "score a number": lambda model: dg.score(3, "a.tsv"),  # type: ignore[arg-type]
    "score on a number": lambda model: dg.score(model, 3),  # type: ignore[arg-type]
    "score on nothing": lambda model: dg.score(model),
    "calibrate on a number": lambda model: dg.calibrate(model.folder, 3),  # type: ignore[arg-type]
    "train on a number": lambda model: dg.train(3, out="x"),  # type: ignore[arg-type]
    "train into a number": lambda model: dg.train("a.en", "a.de", out=3),  # type: ignore[arg-type]
    "settings, a number": lambda model: dg.train("a.tsv", out="x", settings=3),  # type: ignore[arg-type]
    "a setting, a number": lambda model: dg.train("a.tsv", out="x", settings={3: 3}),  # type: ignore[dict-item]
    "a listener that is none": lambda model: dg.train("a.tsv", out="x", listener=3),  # type: ignore[arg-type]
    "validation on a number": lambda model: dg.train("a.tsv", out="x", valid=3),  # type: ignore[arg-type]
    "a budget without a unit": lambda model: dg.train("a.tsv", out="x", budget=30),  # type: ignore[arg-type]
}


@pytest.fixture(autouse=True, scope="module")
def unchecked() -> Iterator[None]:
    """In tests all calls are type-checked; those of a user are not."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return exported_folder(tmp_path_factory.mktemp("calls") / "model")


@pytest.fixture(scope="module", params=["torch", "ct2"])
def model(request: pytest.FixtureRequest, folder: Path) -> Any:
    return dg.load(folder, runtime=request.param)


def refused(call: Callable[[], object]) -> DragomanError:
    with pytest.raises(DragomanError) as caught:
        call()
    error = caught.value
    assert error.what
    assert error.where
    assert error.hint
    assert "command line" not in str(error)
    assert " --" not in str(error)
    return error


@pytest.mark.parametrize("name", UNKNOWN)
def test_an_unknown_keyword_is_told_the_near_one(model: Any, name: str) -> None:
    call, meant = UNKNOWN[name]
    error = refused(lambda: call(model))
    assert isinstance(error, UsageError)
    assert error.what == f'There is no keyword "{name}". Did you mean "{meant}"?'


def test_a_keyword_of_another_function_is_refused(model: Any) -> None:
    assert refused(lambda: model("a dog", runtime="torch")).what == 'There is no keyword "runtime".'


@pytest.mark.parametrize("what", TEXTS)
def test_what_is_no_text_is_refused(model: Any, what: str) -> None:
    assert isinstance(refused(lambda: list(TEXTS[what](model))), UsageError | DataError)  # type: ignore[call-overload]


def test_an_iterator_is_read_as_its_results_are(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.inference.model.READ_AHEAD", 2)
    read: list[str] = []
    texts = ["a dog", "a cat", "", "two dogs", "no cat"]

    def lines() -> Iterator[str]:
        for text in texts:
            read.append(text)
            yield text

    results = model(lines(), {"kind": "greedy"}, prefix="a")
    assert read == []
    first = next(results)
    assert read == texts[:2]
    assert [first, *results] == [model(text, {"kind": "greedy"}, prefix="a") for text in texts]


def test_the_lines_of_an_open_file_are_texts(model: Any, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("a dog\na cat\r\nno cat", encoding="utf-8", newline="")
    with (tmp_path / "lines.txt").open(encoding="utf-8", newline="") as file:
        results = list(model(file))
    assert results == model(["a dog", "a cat", "no cat"])
    assert model("a dog\n") == model("a dog")


@pytest.mark.parametrize("what", ASKED)
def test_what_cannot_be_asked_is_refused(model: Any, what: str) -> None:
    refused(lambda: model("a dog", **ASKED[what]))


@pytest.mark.parametrize("what", FILES)
def test_what_is_no_file_or_setting_is_refused(
    folder: Path, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.tsv").write_text("a\tb\n", encoding="utf-8")
    model = dg.load(folder, runtime="torch")
    refused(lambda: FILES[what](model))


def test_a_finished_run_names_keywords_and_no_options(tmp_path: Path) -> None:
    (tmp_path / "run" / "model").mkdir(parents=True)
    (tmp_path / "a.tsv").write_text("a\tb\n", encoding="utf-8")
    error = refused(lambda: dg.train(tmp_path / "a.tsv", out=tmp_path / "run"))
    assert "force=True" in error.hint
    assert "dragoman.load(" in error.hint


def test_an_unknown_setting_says_where_it_was_given(tmp_path: Path) -> None:
    error = refused(lambda: dg.train("a.tsv", out=tmp_path, settings={"training.update": 3}))
    assert isinstance(error, ConfigError)
    assert error.where == "settings['training.update']"


def test_completion_offers_what_there_is() -> None:
    assert [name for name in dir(dg) if not name.startswith("_")] == [
        "calibrate",
        "compare",
        "errors",
        "load",
        "report",
        "resume",
        "score",
        "train",
    ]
