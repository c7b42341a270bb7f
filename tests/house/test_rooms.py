"""Rooms stand around a core: without one of them, and those above it, the core trains, runs and scores.

`AROUND` is the house as it is to be, with the files of today, from the top. `NEEDED` lists the rooms without
which the core does not do its work today; it only shrinks.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
AROUND: dict[str, list[str]] = {
    "command line": ["cli", "__main__.py"],
    "api": ["api.py"],
    "reports": ["reports"],
    "serving": ["serving"],
    "recipes": ["data/recipes"],
    "ONNX": [
        "export/onnx",
        "inference/runtimes/onnx.py",
        "inference/runtimes/onnx_file.py",
        "inference/runtimes/onnx_network.py",
    ],
    "CTranslate2": [
        "export/argos.py",
        "export/ct2.py",
        "export/ct2_spec.py",
        "export/sentence_splitter.onnx",
        "inference/runtimes/ct2.py",
        "inference/runtimes/ct2_file.py",
    ],
    "conversion": [
        "export/probe_inputs.py",
        "export/probe_sentences.py",
        "export/trim.py",
        "export/verify.py",
        "export/verify_answers.py",
        "importing",
        "training/distillation.py",
    ],
    "analysis": ["analysis"],
    "inspection": ["inspection", "inference/explain.py", "tasks/explain.py"],
    "corpus checks": [
        "data/clean/check.py",
        "data/clean/report.py",
        "data/clean/sides.py",
        "data/clean/survey.py",
        "data/split.py",
    ],
    "documents": ["documents"],
    "steering": ["steering"],
}
NEEDED = {"steering"}
WORK = """
from pathlib import Path

from dragoman.config.load import load as load_settings
from dragoman.inference.model import load
from dragoman.metrics.report import score
from dragoman.training.run import Run

words = {"a": "A", "b": "B", "c": "C", "d": "D"}
sources = [" ".join((one, two, three)) for one in words for two in words for three in words]
targets = [" ".join(words[word] for word in source.split()) for source in sources]
Path("pairs.tsv").write_text("".join(f"{s}\\t{t}\\n" for s, t in zip(sources, targets)), encoding="utf-8")
settings = [
    'data.train=["pairs.tsv"]', 'data.valid=["pairs.tsv"]', "text.kind=word", "training.threads=1",
    "training.updates=4", "training.batch_tokens=128", "model.preset=transformer-tiny",
    "model.encoder.width=16", "model.decoder.width=16",
]
Run(load_settings(None, settings), Path("run"), [], lambda _: True).train()
outputs = [result.text for result in load("run")(sources)]
print(score(outputs, targets))
"""


def rooms() -> list[object]:
    reason = "the core needs it"
    marks = {name: [pytest.mark.xfail(reason=reason, strict=True)] * (name in NEEDED) for name in AROUND}
    return [pytest.param(name, id=name, marks=marks[name]) for name in AROUND]


def test_every_room_is_there() -> None:
    gone = [
        path for paths in AROUND.values() for path in paths if not (ROOT / "src/dragoman" / path).exists()
    ]
    assert gone == []


@pytest.mark.slow
@pytest.mark.parametrize("name", rooms())
def test_the_core_works_without_a_room_and_those_above(name: str, tmp_path: Path) -> None:
    package = tmp_path / "src" / "dragoman"
    shutil.copytree(ROOT / "src" / "dragoman", package, ignore=shutil.ignore_patterns("__pycache__"))
    names = list(AROUND)
    for above in names[: names.index(name) + 1]:
        for path in AROUND[above]:
            if (package / path).is_dir():
                shutil.rmtree(package / path)
            else:
                (package / path).unlink()
    done = subprocess.run(
        [sys.executable, "-c", WORK],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(package.parent), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
