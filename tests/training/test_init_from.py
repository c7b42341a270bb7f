"""Fine-tuning: a run that starts from the weights and the vocabulary of a trained model."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

import dragoman as dg
from dragoman.cli.main import main
from dragoman.config.load import load
from dragoman.config.root import Config
from dragoman.errors import ConfigError, UsageError
from dragoman.models.bundle import load_bundle
from dragoman.training.run import Run
from support.runs import RNN, ROUNDING, TRANSFORMER, StopAt, losses, record, settings, train

FEW = {"updates": 8, "checkpoint_every": 4, "validate_every": 8}


@pytest.fixture(scope="module")
def trained(words: Path) -> Path:
    run(load(None, base=settings(words, TRANSFORMER)), words / "trained")
    return words / "trained"


@pytest.fixture
def other(words: Path, tmp_path: Path) -> Path:
    """Another corpus, with letters that the model has never seen."""
    lines = (words / "test.tsv").read_text(encoding="utf-8").split("\n")[:80]
    (tmp_path / "other.tsv").write_text("\n".join([*lines, "ñandú\túdnañ"]) + "\n", encoding="utf-8")
    return tmp_path / "other.tsv"


def run(config: Config, out: Path, *listeners: Any) -> str:
    return Run(config, out, list(listeners), lambda _: True).train().reason


def tuned(init_from: Path, data: Path, **tables: Any) -> Config:
    training = {**FEW, "batch_tokens": 300, "threads": 1, "precision": "fp32", "init_from": str(init_from)}
    base = {"data": {"train": [{"files": [str(data)]}]}, **tables}
    return load(None, base={**base, "training": {**training, **tables.get("training", {})}}, is_new=True)


def test_it_starts_from_the_weights_and_the_vocabulary(trained: Path, other: Path, tmp_path: Path) -> None:
    config = tuned(trained, other, training={"lr": 1e-12})
    assert config.model.encoder.model_dump()["width"] == TRANSFORMER["width"]
    run(config, tmp_path / "out")
    before, after = load_bundle(trained / "model"), load_bundle(tmp_path / "out" / "model")
    for name, p in before.model.named_parameters():
        assert torch.allclose(dict(after.model.named_parameters())[name], p, atol=1e-8), name
    assert after.text.src.size == before.text.src.size
    text = "text/joint.json"
    assert (tmp_path / "out" / "model" / text).read_bytes() == (trained / "model" / text).read_bytes()


def test_it_learns_from_there(words: Path, trained: Path, tmp_path: Path) -> None:
    """On the data of the model, the first loss is what the model reached, not that of new weights."""
    config = tuned(trained, words / "train.tsv")
    run(config, tmp_path / "tuned")
    run(load(None, base=settings(words, TRANSFORMER, **FEW)), tmp_path / "new")
    first = [record(folder)[0][0][2] for folder in (tmp_path / "tuned", tmp_path / "new")]
    last = record(trained)[0][-1][2]
    assert abs(first[0] - last) < 0.5 * (first[1] - last)


def test_stopped_and_resumed_without_the_model_equals_uninterrupted(
    trained: Path, other: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(trained, tmp_path / "copy")
    config = tuned(copy, other)
    assert run(config, tmp_path / "whole") == "done"
    assert run(config, tmp_path / "halved", StopAt(3)) == "asked"
    shutil.rmtree(copy)
    assert main(["train", "-o", str(tmp_path / "halved"), "--yes"]) == 0
    assert record(tmp_path / "halved") == record(tmp_path / "whole")
    assert main(["train", "-o", str(tmp_path / "halved"), "--more", "2", "--yes"]) == 0
    assert dg.load(tmp_path / "halved")("abc").text is not None


def test_a_run_does_not_resume_from_another_model(trained: Path, other: Path, tmp_path: Path) -> None:
    config, out = tuned(trained, other), tmp_path / "out"
    assert run(config, out, StopAt(2)) == "asked"
    run(tuned(trained, other), tmp_path / "second")
    for init_from in (str(tmp_path / "second"), None):
        training = config.training.model_copy(update={"init_from": init_from})
        with pytest.raises(UsageError, match="the model that it starts from"):
            run(config.model_copy(update={"training": training}), out)


@pytest.mark.slow
def test_two_ranks_start_from_it_too(trained: Path, words: Path, tmp_path: Path) -> None:
    for ranks in (1, 2):
        more = {**FEW, "init_from": str(trained), "micro_batches": 2 // ranks}
        train(settings(words, TRANSFORMER, **more), tmp_path / str(ranks), ranks)
    assert losses(tmp_path / "2") == pytest.approx(losses(tmp_path / "1"), rel=ROUNDING)


@pytest.mark.parametrize(
    ("tables", "error", "said"),
    [
        ({"text": {"kind": "bpe"}}, ConfigError, "text.kind cannot change: the vocabulary is that of"),
        (
            {"model": {"encoder": {"ffn": 64}}},
            UsageError,
            "W_1.bias is 64, and 32 there",
        ),
        ({"model": {"encoder": RNN}}, UsageError, "differs from that of"),
    ],
)
def test_another_network_or_vocabulary_is_refused(
    tables: dict[str, Any], error: type[Exception], said: str, trained: Path, other: Path, tmp_path: Path
) -> None:
    with pytest.raises(error, match=said):
        run(tuned(trained, other, **tables), tmp_path / "out")


def test_dropout_may_differ(trained: Path, other: Path) -> None:
    config = tuned(trained, other, model={"encoder": {"dropout": 0.5}, "decoder": {"dropout": 0.5}})
    assert config.model.encoder.model_dump()["dropout"] == 0.5


def test_the_learning_rate_is_smaller(trained: Path, other: Path) -> None:
    assert tuned(trained, other).training.lr == pytest.approx(0.5 * 4e-3)


def test_a_folder_without_a_model_is_refused(other: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no model to start from"):
        tuned(tmp_path, other)


def test_by_the_command_line_and_in_python(
    trained: Path, other: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["training.updates=2", "training.threads=1", "training.report=false"]
    out = tmp_path / "typed"
    assert main(["train", str(other), "--from", str(trained), "-o", str(out), "--yes", *options]) == 0
    assert f"starts from the weights and the vocabulary of {trained}" in capsys.readouterr().err
    assert "It was fine-tuned" in (out / "model" / "card.md").read_text()
    moved = (tmp_path / "typed").rename(tmp_path / "moved")
    assert dg.load(moved)("abc").text is not None
    names = {"training.init_from": str(trained), "training.updates": 2, "training.threads": 1}
    model = dg.train(other, out=tmp_path / "python", settings=names, progress=False)
    assert model("abc").text is not None


def test_it_is_prepared_with_the_vocabulary_of_the_model(trained: Path, other: Path, tmp_path: Path) -> None:
    out = tmp_path / "prepared"
    assert main(["prepare", str(other), "--from", str(trained), "-o", str(out), "training.updates=2"]) == 0
    stored = json.loads((out / "store" / "text" / "joint.json").read_text())
    assert stored == json.loads((trained / "model" / "text" / "joint.json").read_text())
    assert main(["train", "-o", str(out), "--yes"]) == 0


def test_new_labels_of_a_classifier_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, labels in (("old", ("greet", "leave")), ("new", ("greet", "pay"))):
        lines = [f"{labels[n % 2]}\tword{n % 7} thing{n % 5}\n" for n in range(60)]
        (tmp_path / f"{name}.tsv").write_text("".join(lines))
    options = ["--yes", "training.updates=2", "training.threads=1", "training.report=false"]
    old, out = str(tmp_path / "model"), str(tmp_path / "out")
    data = ["--languages", "2", "1"]
    assert main(["train", str(tmp_path / "old.tsv"), *data, "-o", old, "task=classify", *options]) == 0
    assert main(["train", str(tmp_path / "new.tsv"), *data, "--from", old, "-o", out, *options]) == 3
    assert 'The label "pay" does not occur' in capsys.readouterr().err


def test_new_tags_of_a_tagger_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, tag in (("old", "B-city"), ("new", "B-town")):
        lines = [f"in\tO\nword{n}\t{tag if n == 40 else 'B-city'}\n\n" for n in range(60)]
        (tmp_path / f"{name}.conll").write_text("".join(lines))
    options = ["--yes", "training.updates=2", "training.threads=1", "training.report=false"]
    old, new, model, out = (str(tmp_path / name) for name in ("old.conll", "new.conll", "model", "out"))
    assert main(["train", old, "-o", model, "task=tag", *options]) == 0
    assert main(["train", new, "--from", model, "-o", out, *options]) == 3
    said = capsys.readouterr().err
    assert 'The tag "B-town" is not in the vocabulary.' in said
    assert "new.conll:121" in said
