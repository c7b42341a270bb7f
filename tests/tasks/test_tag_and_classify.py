"""Taggers and classifiers with real commands: train, run, score, and what is refused in words."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import dragoman
from dragoman.cli.main import main
from dragoman.config.load import load
from dragoman.config.root import Config
from dragoman.tasks.examples import build_examples
from dragoman.tasks.lines import as_read, cut, longest_line
from dragoman.text.tokenizers.spelled import Spelled
from dragoman.text.vocabulary import Vocabulary
from dragoman.training.events import Events
from dragoman.training.parallel import Ranks
from dragoman.training.run import Run

TRAINING = [
    *("training.updates=60", "training.batch_tokens=1500", "training.lr=1e-2", "training.warmup=5"),
    *("training.schedule=constant", "training.validate_every=30", "training.checkpoint_every=30"),
]
SMALL = ("model.encoder.width=16", "model.encoder.embedding=32", "model.encoder.dropout=0.0")
THINGS = {"mile": "B-unit", "miles": "B-unit", "kilometres": "B-unit", "paris": "B-city", "rome": "B-city"}


def write(folder: Path, name: str, count: int) -> list[str]:
    """Requests with an intent that the first word decides; numbers are outside."""
    words, tags, labels = [], [], []
    for n in range(count):
        city, unit = list(THINGS)[3 + n // 4 % 2], list(THINGS)[n % 3]
        line = [("book", "measure")[n % 2], str(n * 7 % 90), unit, "to", city][: 2 + n % 4]
        words.append(" ".join(line))
        tags.append(" ".join(THINGS.get(word, "O") for word in line))
        labels.append(("Travel", "Length")[n % 2])
    sides = {"words": words, "tags": tags, "labels": labels}
    for kind, lines in sides.items():
        (folder / f"{name}.{kind}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return [str(folder / f"{name}.{kind}") for kind in sides]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("requests")
    for name, count in (("train", 300), ("valid", 20), ("test", 24)):
        write(folder, name, count)
    return folder


def files(home: Path, name: str, *kinds: str) -> list[str]:
    return [str(home / f"{name}.{kind}") for kind in kinds]


def train(home: Path, out: Path, kinds: tuple[str, ...], *settings: str, **other: list[str]) -> int:
    return start(home, out, kinds, *settings, *SMALL, **other)


def start(home: Path, out: Path, kinds: tuple[str, ...], *settings: str, **other: list[str]) -> int:
    sides = {of: files(home, of, *kinds) for of in ("train", "valid")} | other
    options = ["-o", str(out), "--valid", *sides["valid"]]
    return main(["train", *sides["train"], *settings, *TRAINING, "training.threads=1", "--yes", *options])


@pytest.fixture(scope="module")
def joint(home: Path) -> Path:
    settings = ["task=tag", "model.head.label=true"]
    assert train(home, home / "joint", ("words", "tags", "labels"), *settings) == 0
    return home / "joint"


def test_slots_and_intent_are_learned_and_scored_beside_baselines(
    home: Path, joint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["score", str(joint), *files(home, "test", "words", "tags", "labels"), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["accuracy"] > 95
    assert report["span_f1"] > 90
    assert report["intent"] == 100
    assert report["baselines"]["HMM"]["accuracy"] > 80
    assert report["baselines"]["most frequent tag"]["intent"] == 50
    assert 0 <= report["calibration_error"] < 20
    assert main(["score", str(joint), *files(home, "test", "words", "tags", "labels")]) == 0
    said = capsys.readouterr()
    assert "HMM                  accuracy" in said.out
    assert f"Next: dragoman run {joint} TEXT" in said.err


def test_a_report_has_the_baselines_of_labels(home: Path, joint: Path) -> None:
    assert (joint / "report.html").is_file(), "written by training"
    found = dragoman.report(joint, *files(home, "test", "words", "tags", "labels"))
    assert found.scores[0].metric == "span_f1"
    assert [gain.baseline for gain in found.gains] == ["most frequent tag", "HMM"]
    for gain in found.gains:
        assert gain.interval[0] <= gain.difference <= gain.interval[1]
    assert found.sentence_score == "labels right, %"
    assert found.explained[0].explanation.tags is not None
    same = dragoman.compare([joint, joint], *files(home, "test", "words", "tags", "labels"))
    assert {one.metric for one in same.contrasts} == {"accuracy", "span_f1", "exact_match"}


def test_each_word_has_a_tag_and_the_line_a_label(
    joint: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(["run", str(joint), "measure  17 miles to paris"]) == 0
    said = capsys.readouterr()
    assert said.out == "@Length O O B-unit O B-city\n"
    assert f"Next: dragoman score {joint} TEST.words TEST.tags TEST.labels" in said.err
    monkeypatch.undo()
    assert main(["run", str(joint), "book 17 xyzzy", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["label"] == "Travel"
    assert [word["word"] for word in answer["words"]] == ["book", "17", "xyzzy"]
    assert all(0 < word["p"] <= 1 and 0 <= word["weight"] <= 1 for word in answer["words"])


def test_a_label_and_the_weight_of_each_word(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train(home, home / "label", ("words", "labels"), "task=classify") == 0
    capsys.readouterr()
    test = files(home, "test", "words", "labels")
    assert main(["score", str(home / "label"), *test, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["accuracy"] == report["macro_f1"] == 100
    assert report["baselines"] == {
        "most frequent label": {"accuracy": 50.0, "macro_f1": pytest.approx(100 / 3)}
    }
    assert main(["run", str(home / "label"), "measure 5 miles", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["text"] == "Length"
    found = dragoman.report(home / "label", *test)
    assert found.verdict.startswith("All ")
    assert "Always answering with the most frequent label gets " in found.verdict
    assert [part["token"] for part in answer["weights"]] == ["measure", "5", "miles", "</s>"]
    assert sum(part["weight"] for part in answer["weights"]) == pytest.approx(1, abs=1e-5)


def test_labels_that_the_model_does_not_know_are_counted_as_wrong_and_named(
    home: Path, joint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words, tags, labels = (home / f"other.{kind}" for kind in ("words", "tags", "labels"))
    words.write_text("book 17 miles\nmeasure 5 mile\n", encoding="utf-8")
    tags.write_text("O O B-unit\nO B-number B-unit\n", encoding="utf-8")
    labels.write_text("Travel\nArea\n", encoding="utf-8")
    command = ["score", str(joint), *map(str, (words, tags, labels))]
    assert main([*command, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["unknown_labels"] == {"@Area": 1, "B-number": 1}
    assert report["intent"] == 50
    assert report["accuracy"] == pytest.approx(100 * 5 / 6)
    assert main(command) == 0
    assert 'unknown labels       2 counted as wrong: "@Area", "B-number"' in capsys.readouterr().out


@pytest.mark.parametrize("command", [["run", "MODEL", "book 5"], ["score", "MODEL", "FILES"]])
def test_settings_of_a_search_are_refused_where_nothing_is_searched(
    home: Path, joint: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    test = files(home, "test", "words", "tags", "labels")
    places = {"MODEL": [str(joint)], "FILES": test}
    words = [word for one in command for word in places.get(one, [one])]
    assert main([*words, "search.size=2"]) == 2
    assert "This needs no search" in capsys.readouterr().err


def test_a_label_that_was_never_trained_is_refused(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words, labels = (home / f"odd.{kind}" for kind in ("words", "labels"))
    words.write_text("book 5\nbook 6\n", encoding="utf-8")
    labels.write_text("Travel\nTravels\n", encoding="utf-8")
    odd = [str(words), str(labels)]
    assert train(home, home / "odd", ("words", "labels"), "task=classify", valid=odd) == 3
    said = capsys.readouterr().err
    assert '"Travels" does not occur in the training data. Did you mean "Travel"?' in said
    assert "line 2" in said


def test_lines_out_of_step_are_refused(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    short = home / "short.tags"
    short.write_text("O\n" * 300, encoding="utf-8")
    broken = [str(home / "train.words"), str(short)]
    assert train(home, home / "short", ("words", "tags"), "task=tag", train=broken) == 3
    said = capsys.readouterr().err
    assert "2 words and 1 tags" in said
    assert "train.words:1" in said


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["task=tag", "model.head.kind=label"], 'does not fit task = "tag"'),
        (["task=translate", "model.head.kind=crf"], 'or set task = "tag"'),
        (["task=tag", "text.src.kind=bpe"], "a tag belongs to a word"),
        (["task=classify", "model.encoder.kind=dense"], 'set pooling.kind = "last"'),
        (["task=tag", "model.encoder.kind=dense"], "a state for each word"),
        (["task=classify", "text.src.kind=word"], "need each other"),
        (["task=tag", "text.lowercase=true"], "would change the tags"),
        (
            ["task=classify", "model.encoder.kind=transformer", "model.pooling.kind=last"],
            "a recurrent encoder",
        ),
    ],
)
def test_parts_that_do_not_fit_are_refused(
    home: Path, settings: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert start(home, home / "refused", ("words", "tags"), *settings) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("sides", "settings", "code", "said"),
    [
        (("words", "tags", "labels"), (), 2, "set model.head.label = true"),
        (("words", "tags"), ("model.head.label=true",), 3, "no target line begins with @"),
    ],
)
def test_labels_of_lines_are_named_in_data_and_settings(
    home: Path,
    sides: tuple[str, ...],
    settings: tuple[str, ...],
    code: int,
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert start(home, home / "refused", sides, "task=tag", *settings) == code
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["spelled", "word", "char", "bpe"])
def test_a_line_is_answered_as_it_was_read_in_training(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "a.tsv"
    file.write_text("  a  good film \tspam \nsome other words\tham\n", encoding="utf-8")
    embedding = "spelled" if kind == "spelled" else "table"
    settings = ["task=classify", f"text.src.kind={kind}", f"model.src_embedding.kind={embedding}"]
    config = load(None, settings, {"data": {"train": str(file)}})
    first, second = build_examples(config).read([str(file)], None, None)
    assert first.src == as_read(config, "  a  good film ")
    assert first.tgt == "spam"
    assert second.src == as_read(config, "some other words") == "some other words"
    assert (first.src == "a good film") == (kind in ("spelled", "word"))


def test_every_word_of_a_long_line_has_a_tag(joint: Path) -> None:
    """A word is its id and its bytes; the limit is one of words."""
    words = ["measure", "3", "kilometres", "to", "paris"] * 400
    (answer,) = dragoman.load(joint)([" ".join(words)])
    assert [word.word for word in answer.words] == words
    assert {word.tag for word in answer.words} <= {"O", "B-unit", "B-city"}


def test_words_beyond_the_positions_of_the_encoder_are_not_read() -> None:
    part = {"kind": "transformer", "max_positions": 9}
    model = {"encoder": part, "head": {"kind": "crf"}, "src_embedding": {"kind": "spelled"}}
    text = {"src": {"kind": "spelled"}, "tgt": {"kind": "word"}}
    config = Config.model_validate({"task": "tag", "data": {"train": "a.tsv"}, "text": text, "model": model})
    row = np.array(Spelled(Vocabulary.most_frequent(Counter(["ab"]), 99)).encode("ab " * 8 + "ab"))
    assert longest_line(config) == 8
    assert cut(config, row).tolist() == row[: 8 * 3].tolist()
    assert cut(config, row[: 8 * 3]).tolist() == row[: 8 * 3].tolist()


@pytest.mark.parametrize("limit", ["data.max_length=8", "model.encoder.max_positions=9"])
def test_a_line_is_too_long_by_its_words(limit: str, tmp_path: Path) -> None:
    """In training, validation and answers alike: eight words are read whole, of nine the last is not."""
    file, long = tmp_path / "a.conll", "kilometres " * 8 + "kilometres"
    file.write_text("kilometres\tO\n" * 8 + "\n" + "kilometres\tO\n" * 9, encoding="utf-8")
    kind = "transformer" if "positions" in limit else "rnn"
    data = {"train": [str(file)], "valid": [str(file)]}
    config = load(None, ["task=tag", f"model.encoder.kind={kind}", limit], {"data": data})
    found = Run(config, tmp_path / "run", [], lambda _: True).data(Ranks(), Events(None, []))
    assert found.facts()["counts"] == {"read": 2, "skipped": 0, "empty": 0, "too_long": 1, "kept": 1}
    usable = build_examples(config).validation_rows(found.valid, found.text, config.longest_side)
    assert [len(pair.src.split()) for pair, _ in usable] == [8]
    (row,) = found.text.read([long])
    assert len(found.text.src.decode(cut(config, row)).split()) == 8
