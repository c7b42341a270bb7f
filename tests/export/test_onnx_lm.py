"""An ONNX export of a language model scores and continues texts as PyTorch does, without torch."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jaxtyping
import pytest
import torch

pytest.importorskip("onnxscript", reason='pip install "dragoman[onnx-export]"')

import dragoman
from dragoman.cli.main import main
from dragoman.errors import UsageError
from dragoman.export.onnx.language_models import write_language_model
from dragoman.export.verify_answers import compare, worst_token
from dragoman.inference.continuation import ContinuationRuntime
from dragoman.inference.runtimes.exports import ExportParts
from dragoman.inference.text_scoring import Sliding, TextScorer
from dragoman.models.bundle import Bundle, load_bundle
from dragoman.tasks import answerers, exported
from dragoman.tasks.load import TaskModel
from dragoman.text.specials import EOS
from models.test_language_model import KINDS
from support.tiny_bundle import WORDS, saved, tiny_lm
from support.without_torch import run_without_torch

# A window is refused: the state of a step does not say how many tokens came before it.
EXPORTED = [name for name, part in KINDS.items() if "window" not in part]
DRAW = random.Random(2)
LINES = [" ".join(DRAW.choices(WORDS, k=DRAW.randint(1, 12))) for _ in range(60)]
SEARCHES: list[dict[str, Any]] = [
    {"kind": "greedy"},
    {"kind": "beam", "size": 3, "n_best": 3},
    {"kind": "sample", "n_best": 2, "temperature": 0.8},
    {"kind": "sample", "top_k": 5, "top_p": 0.9, "seed": 7},
]


@pytest.fixture(autouse=True, scope="module")
def unchecked() -> Iterator[None]:
    """A size that is free in a graph is no int, which the checks of shapes ask for."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def lively(kind: str) -> Bundle:
    """Random weights, no two alike, with texts that end now and then."""
    bundle, noise = tiny_lm(KINDS[kind]), torch.Generator().manual_seed(2)
    with torch.no_grad():
        for p in bundle.model.parameters():
            p.mul_(0.5).add_(torch.randn(p.shape, generator=noise), alpha=0.1)
        bundle.model.head.b[EOS] += 2.0
    return bundle


def assert_same(bundle: Bundle, folder: Path) -> None:
    """The model scores and continues texts as the export in a folder."""
    parts = ExportParts(folder, Path.read_bytes, bundle.config, bundle.text, None)
    ours, theirs = answerers.build_answerer(bundle), exported.build_answerer(parts, "cpu")
    assert isinstance(ours, ContinuationRuntime)
    assert isinstance(theirs, ContinuationRuntime)
    assert worst_token(bundle, ours, theirs) < 1e-4
    scored = [[*TextScorer(one.log_p, bundle.text.tgt, Sliding(8, 4)).lines(LINES)] for one in (ours, theirs)]
    for (_, a), (_, b) in zip(*scored, strict=True):
        assert [token for token, _ in a] == [token for token, _ in b]
        assert [p for _, p in a] == pytest.approx([p for _, p in b], abs=1e-4)
    # A space at the end is part of the next word, which an engine chooses before it searches.
    prompts = ["", *(line[: 1 + n % 6].rstrip() for n, line in enumerate(LINES))]
    for changes in SEARCHES:
        search = bundle.config.search.model_copy(update={"max_length": 12, **changes})
        agreement = compare(ours(prompts, search), theirs(prompts, search))
        assert agreement.same == agreement.sentences == len(prompts)
        assert agreement.worst < 1e-4
    assert [theirs([prompt], search)[0].text for prompt in prompts[:9]] == [
        result.text for result in theirs(prompts[:9], search)
    ]
    assert "".join(theirs.stream("a b", search)) == "".join(ours.stream("a b", search))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in EXPORTED if kind != "lstm"])
def test_every_kind_scores_and_continues_as_by_torch(kind: str, tmp_path: Path) -> None:
    bundle = lively(kind)
    write_language_model(bundle.model, bundle.longest_target, tmp_path)
    assert_same(bundle, tmp_path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder that holds its export, and a text."""
    made = tmp_path_factory.mktemp("lm")
    (made / "test.txt").write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    saved(made / "model", lively("lstm"))
    assert main(["export", str(made / "model"), "--to", "onnx"]) == 0
    return made / "model"


def test_texts_are_scored_and_continued_as_by_torch(folder: Path) -> None:
    assert_same(load_bundle(folder), folder / "onnx")


def test_a_text_is_scored_and_continued_without_torch(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = str(folder.parent / "test.txt")
    found = json.loads(run_without_torch("score", str(folder), text, "--json"))
    capsys.readouterr()
    assert main(["score", str(folder), text, "--json", "--runtime", "torch"]) == 0
    expected = json.loads(capsys.readouterr().out)
    for name in ("perplexity", "bits_per_character"):
        assert found[name] == pytest.approx(expected[name], rel=1e-5)
    model = dragoman.load(folder, runtime="torch")
    assert isinstance(model, TaskModel)
    short = model.answerer.search.model_copy(update={"max_length": 9})
    asked = ["run", str(folder / "onnx"), "--continue", "a b", "search.max_length=9"]
    assert run_without_torch(*asked) == model("a b", search=short).text + "\n"
    beam = short.model_copy(update={"kind": "beam"})
    assert run_without_torch(*asked, "search.kind=beam") == model("a b", search=beam).text + "\n"


def test_what_needs_torch_is_refused_in_words(folder: Path) -> None:
    model = dragoman.load(folder, runtime="onnx")
    assert isinstance(model, TaskModel)
    with pytest.raises(UsageError, match="The runtime onnx cannot do this: forbidden words"):
        model("a", forbid=["b"])
    with pytest.raises(UsageError, match="does not contain the weights that PyTorch reads"):
        dragoman.load(folder / "onnx", runtime="torch")


def test_a_window_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved(tmp_path / "model", tiny_lm(KINDS["rotary window"]))
    assert main(["export", str(tmp_path / "model"), "--to", "onnx"]) == 1
    assert "window of 1 (the steps of an export see all tokens)" in capsys.readouterr().err
