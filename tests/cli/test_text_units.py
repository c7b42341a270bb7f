"""Each side has units of its own: characters in and words out, words by their characters, large outputs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman.cli.main import main

SAMPLE = Path(__file__).parent.parent.parent / "docs" / "tatoeba"
TINY = [
    *(f"model.{side}.{key}" for side in ("encoder", "decoder") for key in ("width=16", "embedding=16")),
    "training.updates=5",
    "training.batch_tokens=400",
    "training.threads=1",
    "training.valid_decode=2",
    "training.report=false",
    "search.max_length=8",
]
RUNS = {
    "characters → words": ["text.src.kind=char", "text.tgt.kind=word", "model.tied=target"],
    "bytes → sub-words": [
        *("text.src.kind=byte", "text.tgt.kind=unigram", "text.tgt.size=300", "model.tied=none"),
    ],
    "words by their characters": [
        *("text.kind=word", "model.tied=target", "model.src_embedding.kind=characters"),
        *("model.src_embedding.widths=[1, 3]", "model.head.kind=sampled", "model.head.size=40"),
    ],
    "clusters of words": [
        *("text.kind=word", "model.tied=none", "model.tgt_embedding.kind=characters"),
        *("model.head.kind=adaptive", "model.head.cutoffs=[20, 60]"),
    ],
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    for language in ("en", "de"):
        lines = (SAMPLE / f"sample.{language}").read_text(encoding="utf-8").split("\n")
        for name, rows in (("train", slice(0, 60)), ("valid", slice(60, 64))):
            (folder / f"{name}.{language}").write_text("\n".join(lines[rows]) + "\n", encoding="utf-8")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("settings", RUNS.values(), ids=RUNS)
def test_trains_runs_and_scores(
    settings: list[str], corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train = [str(corpus / f"train.{language}") for language in ("en", "de")]
    valid = [str(corpus / f"valid.{language}") for language in ("en", "de")]
    out = str(tmp_path / "run")
    command = ["train", *train, "--valid", *valid, "-o", out, "model.preset=gru-small", *TINY, *settings]
    assert main(command) == 0, capsys.readouterr().err
    capsys.readouterr()
    assert main(["run", out, "Where is my book?"]) == 0
    assert capsys.readouterr().out.count("\n") == 1
    assert main(["score", out, *valid, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)
