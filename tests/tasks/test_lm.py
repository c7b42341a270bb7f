"""Language models end to end: trained, resumed, saved, continued and scored, in lines and in running text."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

import dragoman
from dragoman.cli.main import main
from dragoman.config.load import validate
from dragoman.config.root import Config
from dragoman.errors import ConfigError, UsageError
from dragoman.models.folder import open_folder
from dragoman.tasks.load import TaskModel
from support.runs import ROUNDING, losses, record, train

TRANSFORMER = {"kind": "transformer", "layers": 1, "width": 32, "heads": 2, "ffn": 64, "dropout": 0.0}
GRU = {"kind": "rnn", "cell": "gru", "width": 48, "embedding": 24, "dropout": 0.0}
KINDS = {"lines, transformer": (TRANSFORMER, None), "running text, gru": (GRU, 24)}


def write_grammar(folder: Path) -> None:
    """Sentences such as "the old cat sees a dog ." in two files."""
    draw = random.Random(1)

    def phrase() -> str:
        adjective = draw.choice(["", "", "old ", "red "])
        return f"{draw.choice(['the', 'a'])} {adjective}{draw.choice(['cat', 'dog', 'man'])}"

    def sentence() -> str:
        return f"{phrase()} {draw.choice(['sees', 'likes', 'hears'])} {phrase()} ."

    for name, count in (("train", 600), ("valid", 60)):
        text = "".join(sentence() + "\n" for _ in range(count))
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")


def settings(folder: Path, kind: str, updates: int) -> dict[str, Any]:
    part, size = KINDS[kind]
    return {
        "task": "lm",
        "data": {
            "train": [{"files": [str(folder / "train.txt")]}],
            "valid": {"files": [str(folder / "valid.txt")]},
            "block_size": size,
        },
        "text": {"kind": "char"},
        "model": {"decoder": part},
        "training": {
            "updates": updates,
            "batch_tokens": 600,
            "threads": 1,
            "warmup": 4,
            "lr": 0.01,
            "checkpoint_every": 20,
            "validate_every": 40,
            "precision": "fp32",
        },
    }


# The first kind is fast enough for every run of the tests.
@pytest.fixture(
    scope="module", params=["lines, transformer", pytest.param("running text, gru", marks=pytest.mark.slow)]
)
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("lm")
    write_grammar(folder)
    table = settings(folder, request.param, 80)
    flat = {f"{a}.{b}": v for a, t in table.items() if isinstance(t, dict) for b, v in t.items()}
    flat = {"task": "lm", **{key: value for key, value in flat.items() if value is not None}}
    dragoman.train(out=folder / "run", settings=flat, progress=False, config=None)
    return request.param, folder


def loaded(folder: Path) -> TaskModel:
    model = dragoman.load(folder / "run")
    assert isinstance(model, TaskModel)
    return model


def test_the_grammar_is_learned(trained: tuple[str, Path]) -> None:
    _, folder = trained
    report = dragoman.score(folder / "run", folder / "valid.txt")
    # A sentence has 19 to 32 characters, of which about nine choices are random.
    assert report.scores["bits_per_character"].value < 1.2
    assert report.scores["perplexity"].value == pytest.approx(2 ** report.scores["bits_per_character"].value)
    low, high = report.scores["perplexity"].interval
    assert low < report.scores["perplexity"].value < high


def test_texts_are_continued(trained: tuple[str, Path]) -> None:
    kind, folder = trained
    model = loaded(folder)
    greedy = {"kind": "greedy", "max_length": 30}
    for text in ["the old", "a cat se", "", "the dog sees "]:
        result = model(text, search=model.answerer.search.model_copy(update=greedy))
        assert result.text.startswith(text)
        assert len(result.text) > len(text)
    forbidden = model("the", search=None, forbid=["cat", "dog"])
    assert not {"cat", "dog"} & set(forbidden.text.split())
    assert ("\n" in model("the").text) == (kind == "running text, gru")


def test_one_alone_equals_one_among_others(trained: tuple[str, Path]) -> None:
    _, folder = trained
    model = loaded(folder)
    texts = ["the", "a red", "the old man", "a", "the", "the cat sees"]
    together = model(texts)
    assert [model(text).tokens for text in texts] == [result.tokens for result in together]


def test_every_search_runs_on_a_language_model(trained: tuple[str, Path]) -> None:
    _, folder = trained
    model = loaded(folder)
    own = model.answerer.search.model_copy(update={"max_length": 12})
    for kind, more in (("greedy", {}), ("beam", {"n_best": 3}), ("sample", {"top_k": 3, "n_best": 2})):
        result = model("the ", search=own.model_copy(update={"kind": kind, **more}), details=True)
        assert result.text.startswith("the ")
        assert all(token.log_p <= 0 for token in result.details)
    streamed = "".join(model.answerer.stream("the ", own))
    assert streamed == model("the ", search=own.model_copy(update={"kind": "greedy"})).text


def test_a_text_that_fills_all_positions_is_refused(trained: tuple[str, Path]) -> None:
    _, folder = trained
    with pytest.raises(UsageError, match="no room to continue"):
        loaded(folder)("a cat " * 300)


@pytest.mark.slow
def test_the_commands(trained: tuple[str, Path]) -> None:
    _, folder = trained
    run, valid = str(folder / "run"), str(folder / "valid.txt")

    def command(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "dragoman", *arguments], capture_output=True, text=True, check=True
        )
        return done.stdout

    assert command("run", run, "--continue", "the old", "search.max_length=9").startswith("the old")
    written = json.loads(command("run", run, "--continue", "a", "--json", "--details", "--sample", "seed=3"))
    assert written["text"].startswith("a")
    assert all(token["log_p"] <= 0 for token in written["tokens"])
    saved = folder / "tokens.jsonl"
    report = json.loads(command("score", run, valid, "--stride", "6", "--save", str(saved), "--json"))
    assert report["bits_per_character"] < 1.2
    first = json.loads(saved.read_text(encoding="utf-8").splitlines()[0])
    assert sum(p for _, p in first["tokens"]) == pytest.approx(first["log_p"])
    assert main(["score", run, valid, "--metrics", "bleu"]) == 2  # there are no outputs to compare


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_stopped_and_resumed_equals_uninterrupted(kind: str, tmp_path: Path) -> None:
    write_grammar(tmp_path)
    table = settings(tmp_path, kind, 9)
    table["training"] |= {"checkpoint_every": 3, "validate_every": 4}
    train(table, tmp_path / "whole")
    train(table, tmp_path / "stopped", stop=5)
    train(table, tmp_path / "stopped")
    assert record(tmp_path / "whole") == record(tmp_path / "stopped")


@pytest.mark.slow
def test_two_ranks_have_the_losses_of_one(tmp_path: Path) -> None:
    write_grammar(tmp_path)
    table = settings(tmp_path, "running text, gru", 6)
    for ranks in (1, 2):
        table["training"]["micro_batches"] = 2 // ranks
        train(table, tmp_path / str(ranks), ranks)
    assert losses(tmp_path / "2") == pytest.approx(losses(tmp_path / "1"), rel=ROUNDING)


def config_of(**changes: Any) -> Config:
    return validate({"task": "lm", "data": {"train": ["a.txt"]}, **changes})


def test_settings_that_follow_from_the_task() -> None:
    config = config_of()
    assert config.model.encoder.kind == "none"
    assert (config.model.tied, config.training.valid_metric) == ("target", "loss")


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ConfigError, match="reads no source"):
        config_of(model={"encoder": {"kind": "transformer"}})
    with pytest.raises(ConfigError, match="is for task"):
        validate({"data": {"train": ["a.tsv"]}, "model": {"encoder": {"kind": "none"}, "tied": "target"}})
    blocks = {"train": ["a.txt"], "valid": ["b.txt"], "block_size": 2000}
    with pytest.raises(ConfigError, match="positions of the decoder"):
        config_of(data=blocks)
    with pytest.raises((ConfigError, ValidationError), match=r"data\.valid"):
        config_of(data={"train": ["a.txt"], "block_size": 20})


def test_a_folder_is_read_back(trained: tuple[str, Path]) -> None:
    _, folder = trained
    assert open_folder(folder / "run" / "model")
    report = [dragoman.score(loaded(folder), folder / "valid.txt") for _ in range(2)]
    assert report[0].scores == report[1].scores
