"""`dragoman run` with --nbest, --sample, --ensemble, --reverse and --trace."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman.cli.main import main
from support.tiny_bundle import tiny_folder

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("choosing")
    return [str(tiny_folder(folder / name, seed=seed)) for seed, name in enumerate(("one", "two", "back"))]


def out(arguments: list[str], capsys: Capture) -> list[str]:
    assert main(["run", *arguments]) == 0
    return capsys.readouterr().out.split("\n")[:-1]


def test_the_n_best_have_a_line_each(models: list[str], capsys: Capture) -> None:
    rows = [line.split("\t") for line in out([models[0], "a b c", "d e", "--nbest", "3"], capsys)]
    assert [row[0] for row in rows] == ["1", "1", "1", "2", "2", "2"]
    assert [float(row[1]) for row in rows[:3]] == sorted((float(row[1]) for row in rows[:3]), reverse=True)
    assert [rows[0][2], rows[3][2]] == out([models[0], "a b c", "d e"], capsys)


def test_a_beam_is_wide_enough_for_the_n_best(models: list[str], capsys: Capture) -> None:
    assert len(out([models[0], "a b c", "--nbest", "9"], capsys)) == 9


def test_the_n_best_are_in_the_json(models: list[str], capsys: Capture) -> None:
    (line,) = out([models[0], "a b c", "--nbest", "3", "--json"], capsys)
    told = json.loads(line)
    assert [sorted(a) for a in told["alternatives"]] == [["score", "text"]] * 3
    assert told["alternatives"][0] == {"text": told["text"], "score": told["score"]}


def test_samples_are_drawn_as_asked(models: list[str], capsys: Capture) -> None:
    command = [
        models[0],
        "a b c",
        "--nbest",
        "3",
        "--sample",
        "top-p=0.9,temperature=2",
        "--sample",
        "seed=7",
    ]
    drawn = out(command, capsys)
    assert drawn == out(command, capsys)
    settings = ["search.kind=sample", "search.top_p=0.9", "search.temperature=2", "search.seed=7"]
    assert drawn == out([models[0], "a b c", "--nbest", "3", *settings], capsys)
    assert drawn != out([*command[:-1], "seed=8"], capsys)


def test_an_ensemble_and_a_reverse_model_are_loaded(models: list[str], capsys: Capture) -> None:
    alone = out([models[0], "a b c", "d e f"], capsys)
    both = out([models[0], "a b c", "d e f", "--ensemble", models[1]], capsys)
    assert len(both) == 2
    assert both != alone
    back = [models[0], "a b c", "d e f", "--json", "--reverse", models[2], "search.reverse_weight=1"]
    assert all(json.loads(line)["score"] < 0 for line in out(back, capsys))


def test_a_trace_is_one_list(models: list[str], tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "trace.json"
    lines = out([models[0], "a b c", "", "d e", "--trace", str(file)], capsys)
    told = json.loads(file.read_text(encoding="utf-8"))
    assert [row["source"] for row in told] == ["a b c", "d e"]
    assert [row["output"] for row in told] == [lines[0], lines[2]]
    best = told[0]["candidates"][told[0]["best"][0] - 1]
    assert best["fate"] in ("ended", "open")
    assert best["text"] == "</s>" or best["fate"] == "open"
    assert main(["run", models[0], "", "--trace", str(file)]) == 0
    assert json.loads(file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--sample", "top_p=0.9"], 'Did you mean "top-p=…"'),
        (["--sample", "warm"], "KEY=VALUE"),
        (["--sample", "top-p=2"], "search.top_p"),
        (["--nbest", "9", "search.size=5"], "search.size = 9"),
        (["--nbest", "0"], "search.n_best"),
        (["--sample", "seed=1", "--trace", "x.json"], "Only greedy and beam search have a trace"),
        (["--reverse", "nowhere"], "no such folder"),
        (["--ensemble", "nowhere"], "no such folder"),
    ],
)
def test_what_cannot_be_is_explained(
    models: list[str], arguments: list[str], said: str, capsys: Capture
) -> None:
    assert main(["run", models[0], "a", *arguments]) in (1, 2)
    assert said in capsys.readouterr().err
    assert not Path("x.json").exists()
