"""A CRF is constrained to IOB2 only if that is what it learns from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.config.load import load
from dragoman.models.bundle import load_bundle
from dragoman.training.events import Events
from dragoman.training.iob import unconstrained
from dragoman.training.parallel import Ranks
from dragoman.training.run import Run

# In IOB1, B-x only begins a span that follows another of its type.
IOB1 = [["O", "I-city"], ["I-city", "I-city", "O"], ["O", "I-city", "B-city", "I-city"], ["O", "O"]] * 20
IOB2 = [["O", "B-city"], ["B-city", "I-city", "O"], ["O", "B-city", "B-city", "I-city"], ["O", "O"]] * 20
MISTAKE = [*IOB2, ["O", "I-city"]]  # one of 41 lines with I-city
WORDS = {"O": "in", "B-city": "and", "I-city": "rome"}
TAGS = {"IOB1": IOB1, "IOB2": IOB2, "a mistake": MISTAKE}


def write(lines: list[list[str]], folder: Path, *, label: bool = False) -> list[str]:
    sides = {
        "words": [" ".join(f"{WORDS[tag]}{n % 9}" for tag in tags) for n, tags in enumerate(lines)],
        "tags": [" ".join(tags) for tags in lines],
        **({"labels": ["travel" for _ in lines]} if label else {}),
    }
    for name, side in sides.items():
        (folder / name).write_text("\n".join(side) + "\n", encoding="utf-8")
    return [str(folder / name) for name in sides]


@pytest.mark.parametrize("label", [False, True])
@pytest.mark.parametrize("tags", TAGS)
def test_constraints_are_dropped_where_most_spans_break_them(tags: str, label: bool, tmp_path: Path) -> None:
    files = write(TAGS[tags], tmp_path, label=label)
    settings = ["task=tag", "model.head.kind=crf", f"model.head.label={str(label).lower()}"]
    config = load(None, settings, {"data": {"train": [files], "valid": files}})
    data = Run(config, tmp_path / "run", [], lambda _: True).data(Ranks(), Events(None, []))
    found = unconstrained(config, data)
    assert (found is not None) == (tags == "IOB1")
    assert found is None or found.model.head == config.model.head.model_copy(update={"constraints": False})


@pytest.mark.slow
def test_a_model_of_iob1_answers_in_iob1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files, out = write(IOB1, tmp_path), str(tmp_path / "run")
    training = ["updates=60", "batch_tokens=600", "lr=2e-2", "warmup=5", "threads=1", "validate_every=60"]
    settings = ["task=tag", "model.head.kind=crf", "model.encoder.width=16", "model.encoder.embedding=16"]
    settings += [f"training.{one}" for one in [*training, "checkpoint_every=60", "report=false"]]
    assert main(["train", *files, "--valid", *files, *settings, "-o", out, "--yes"]) == 0
    assert "The tags are not IOB2" in capsys.readouterr().err
    assert load_bundle(tmp_path / "run" / "model").config.model.head.model_dump()["constraints"] is False
    assert main(["score", out, *files, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["span_f1"] == 100
    assert main(["train", *files, "--valid", *files, *settings, "-o", out, "--more", "2", "--yes"]) == 0
