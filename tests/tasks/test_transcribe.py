"""Transcription from letters, end to end: trained, resumed, saved, run and scored by the real commands."""

import json
import os
import random
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import dragoman
from dragoman.cli.main import main
from dragoman.config.load import load
from dragoman.errors import ConfigError
from dragoman.inference.transcription import Transcription
from dragoman.tasks.load import TaskModel
from dragoman.training.run import Run
from support.runs import ROUNDING, losses, record, train

SOUNDS = {"a": "A", "b": "B", "c": "KS", "d": "D", "e": "EE"}
ENCODER = {"kind": "rnn", "layers": 1, "width": 32, "embedding": 16, "dropout": 0.1}
DECODER = {"kind": "rnn", "layers": 1, "width": 16, "embedding": 16, "dropout": 0.1}
LM = {"encoder": {"kind": "none"}, "decoder": {"kind": "rnn", "width": 16, "embedding": 16}, "tied": "none"}
HEADS = {
    "ctc": {"kind": "ctc", "split": 3},
    "ctc-attention": {"kind": "ctc-attention", "split": 3, "weight": 0.5},
}


def sounds(word: str) -> str:
    return "".join(SOUNDS[letter] for letter in word)


def write_words(folder: Path, count: int = 600) -> None:
    draw = random.Random(0)
    words = ["".join(draw.choices("abcde", k=draw.randint(2, 8))) for _ in range(count)]
    for name, part in (("train", words[100:]), ("valid", words[:100])):
        lines = [f"{word}\t{sounds(word)}\n" for word in part]
        (folder / f"{name}.tsv").write_text("".join(lines), encoding="utf-8")


def settings(folder: Path, head: str = "ctc", **training: Any) -> dict[str, Any]:
    return {
        "task": "transcribe",
        "data": {
            "train": [{"files": [str(folder / "train.tsv")]}],
            "valid": {"files": [str(folder / "valid.tsv")]},
        },
        "model": {"encoder": ENCODER, "decoder": DECODER, "head": HEADS[head], "tied": "none"},
        "training": {
            "updates": 12,
            "batch_tokens": 400,
            "threads": 1,
            "lr": 0.02,
            "warmup": 4,
            "checkpoint_every": 4,
            "validate_every": 6,
            "valid_decode": 5,
            "precision": "fp32",
            **training,
        },
    }


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("letters")
    write_words(folder)
    return folder


@pytest.fixture(scope="module")
def model(words: Path) -> Path:
    """A model that has learned the sounds of the letters."""
    config = load(None, base=settings(words, updates=160, validate_every=80, checkpoint_every=40))
    Run(config, words / "run", [], lambda _: True).train()
    return words / "run"


@pytest.mark.slow
def test_it_learns_and_the_commands_run_it(model: Path, words: Path, dragoman: list[str]) -> None:
    def command(*arguments: str) -> str:
        done = subprocess.run([*dragoman, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert command("run", str(model), "decade", "bee") == "DEEKSADEE\nBEEEE\n"
    assert command("run", str(model), "bad", "search.kind=greedy") == "BAD\n"
    found = json.loads(command("run", str(model), "bad", "--json", "--nbest", "2"))
    assert len(found["alternatives"]) == 2
    assert found["text"] == "BAD"
    assert [c["text"] for c in found["characters"]] == ["B", "A", "D"]
    assert 0.5 < found["confidence"] <= 1.0
    report = json.loads(command("score", str(model), str(words / "valid.tsv"), "--json"))
    assert report["cer"] < 5
    assert report["sentences"] == 100


def test_metrics_and_edits_can_be_asked_for(
    model: Path, words: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--metrics", "cer", "ter", "--show-edits", "2", "--json"]
    assert main(["score", str(model), str(words / "valid.tsv"), *asked]) == 0
    report = json.loads(capsys.readouterr().out)
    assert list(report["intervals"]) == ["cer", "ter"]
    assert len(report["edits"]) <= 2


def test_score_takes_settings_of_the_search(
    model: Path, words: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["score", str(model), str(words / "valid.tsv")]
    assert main([*command, "search.kind=greedy"]) == 0
    assert main([*command, "search.kind=sample"]) == 2
    assert "A transcription is not found by sample." in capsys.readouterr().err
    assert main([*command, "training.updates=5"]) == 2
    assert "Only search.… settings can be changed" in capsys.readouterr().err


def test_one_alone_equals_one_in_a_batch(model: Path) -> None:
    loaded = dragoman.load(model)
    assert isinstance(loaded, TaskModel)
    inputs = ["decade", "a", "bee", "", "cab", "dddd", "ace", "abcdeabc"]
    together = loaded(inputs)
    assert all(isinstance(one, Transcription) for one in together)
    assert [loaded(one) for one in inputs] == together
    assert together[3].text == ""


def test_a_source_is_cut_to_the_positions_of_the_model(words: Path, tmp_path: Path) -> None:
    encoder = {"kind": "transformer", "layers": 1, "width": 16, "heads": 2, "ffn": 16, "max_positions": 12}
    given = settings(words, updates=2, checkpoint_every=2, validate_every=2)
    config = load(None, base=given | {"model": given["model"] | {"encoder": encoder}})
    Run(config, tmp_path / "run", [], lambda _: True).train()
    loaded = dragoman.load(tmp_path / "run")
    assert loaded("abcde" * 20) == loaded(("abcde" * 20)[:11])


def test_inputs_are_read_some_at_a_time_and_answered_in_order(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = dragoman.load(model)
    assert isinstance(loaded, TaskModel)
    words = ["decade", "a", "bee", "", "cab", "dddd", "ace"]
    expected, aligned = loaded(words), loaded.answerer.align(words, [sounds(word) for word in words])
    reads: list[int] = []
    read = loaded.answerer.read

    def counted(inputs: Sequence[str]) -> Any:
        reads.append(len(inputs))
        return read(inputs)

    monkeypatch.setattr(loaded.answerer, "read", counted)
    monkeypatch.setattr("dragoman.inference.runtimes.runtime.INPUTS_AT_ONCE", 3)
    assert loaded(words) == expected
    assert loaded.answerer.align(words, [sounds(word) for word in words]) == aligned
    assert reads == [3, 3, 1] * 2


@pytest.mark.slow
def test_language_model_is_fused(model: Path, words: Path, tmp_path: Path, dragoman: list[str]) -> None:
    tables = settings(words)
    config = load(None, base={**tables, "task": "lm", "model": LM, "text": {"kind": "char"}})
    Run(config, tmp_path / "lm", [], lambda _: True).train()
    fused = [*dragoman, "run", str(model), "bee", "--lm", str(tmp_path / "lm"), "--lm-weight"]
    scores = []
    for weight in ("0", "2"):
        done = subprocess.run([*fused, weight, "--json"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        scores.append(json.loads(done.stdout))
    plain = json.loads(
        subprocess.run(
            [*dragoman, "run", str(model), "bee", "--json"], capture_output=True, check=True
        ).stdout
    )
    assert scores[0]["text"] == plain["text"]
    assert scores[0]["score"] == pytest.approx(plain["score"])
    assert scores[1]["score"] < scores[0]["score"]  # log p of a text is negative


def test_given_text_is_aligned(model: Path) -> None:
    loaded = dragoman.load(model)
    assert isinstance(loaded, TaskModel)
    found = loaded.answerer.align(["cab"], ["KSAB"])[0]
    assert [c.text for c in found] == ["K", "S", "A", "B"]
    assert [c.start // 3 for c in found] == [0, 0, 1, 2]  # three frames for each letter


@pytest.mark.parametrize("head", ["ctc", pytest.param("ctc-attention", marks=pytest.mark.slow)])
def test_stopped_and_resumed_equals_uninterrupted(words: Path, tmp_path: Path, head: str) -> None:
    config = load(None, base=settings(words, head))

    def stop(event: Any) -> None:
        if event["event"] == "step" and event["step"] == 5:
            os.kill(os.getpid(), signal.SIGINT)

    Run(config, tmp_path / "whole", [], lambda _: True).train()
    assert Run(config, tmp_path / "halved", [stop], lambda _: True).train().reason == "asked"
    assert Run(config, tmp_path / "halved", [], lambda _: True).train().reason == "done"
    assert record(tmp_path / "halved") == record(tmp_path / "whole")


@pytest.mark.slow
def test_two_ranks_have_the_losses_of_one(words: Path, tmp_path: Path) -> None:
    for ranks in (1, 2):
        train(settings(words, micro_batches=2 // ranks), tmp_path / str(ranks), ranks)
    assert losses(tmp_path / "2") == pytest.approx(losses(tmp_path / "1"), rel=ROUNDING)


def test_joint_model_reranks(words: Path, tmp_path: Path) -> None:
    Run(load(None, base=settings(words, "ctc-attention")), tmp_path / "run", [], lambda _: True).train()
    loaded = dragoman.load(tmp_path / "run")
    assert isinstance(loaded, TaskModel)
    inputs = ["decade", "bee", "cab"]
    together = loaded(inputs)
    assert [loaded(one).text for one in inputs] == [one.text for one in together]


def test_head_and_task_belong_together(words: Path) -> None:
    tables = settings(words)
    with pytest.raises(ConfigError, match="set it to ctc or ctc-attention"):
        load(None, base={**tables, "model": {"head": {"kind": "softmax"}}})
    with pytest.raises(ConfigError, match='or set task = "transcribe"'):
        load(None, base={**tables, "task": "translate"})
