"""A library in another's process: what it found there it leaves there. Each test is a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from api.test_api import SMALL, WORDS
from support.exported_folder import exported_folder

TESTS = Path(__file__).resolve().parent.parent


def python(program: str, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """`arguments` is a list in it. Nothing is asked of MKL but by `environ`."""
    plain = {name: value for name, value in os.environ.items() if name != "MKL_CBWR"}
    begin = f"import sys\nsys.path.insert(0, {str(TESTS)!r})\narguments = sys.argv[1:]\n"
    return subprocess.run(
        [sys.executable, "-c", begin + program, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env={**plain, "OMP_NUM_THREADS": "1", **environ},
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return exported_folder(tmp_path_factory.mktemp("process") / "model")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    home = tmp_path_factory.mktemp("corpus")
    words = [f"{a}{b}" for a in WORDS for b in WORDS]
    (home / "words.src").write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
    (home / "words.tgt").write_text("".join(f"{word[::-1]}\n" for word in words), encoding="utf-8")
    return str(home / "words.src"), str(home / "words.tgt")


CALLS = """
import json
from support.process_state import addresses, compare, look
import dragoman as dg
import torch
src, tgt, out, folder, settings = arguments
torch.optim.AdamW([torch.zeros(1)])  # imports torch's compiler, which sets a variable and a filter
before, space = look(), addresses()
model = dg.train(src, tgt, out=out, settings=json.loads(settings))
compare("train", before)
model("abc"), list(model.stream("abc"))
compare("a trained model", before)
for runtime in ("torch", "ct2"):
    model = dg.load(folder, runtime=runtime)
    compare(f"load, {runtime}", before)
    model(["a dog", "two dogs and a cat"], details=True), list(model.stream("a dog"))
    compare(f"run, {runtime}", before)
    dg.score(model, src, tgt)
    compare(f"score, {runtime}", before)
assert addresses() < space + (2 << 30), "gigabytes of addresses were taken"
"""


@pytest.mark.slow
def test_nothing_of_the_process_is_changed(folder: Path, corpus: tuple[str, str], tmp_path: Path) -> None:
    """Two threads are asked of training, and the process has one."""
    settings: dict[str, Any] = {**SMALL, "training.threads": 2}
    done = python(CALLS, *corpus, str(tmp_path / "run"), str(folder), json.dumps(settings))
    assert done.returncode == 0, done.stderr
    assert not done.stdout, done.stdout


TERMINATED = """
import json, os, signal
import dragoman as dg
src, tgt, out, settings, answer = arguments
if answer == "own":
    signal.signal(signal.SIGTERM, lambda number, frame: print("mine"))
def end(event):
    if event["event"] == "step" and event["step"] == 3:
        os.kill(os.getpid(), signal.SIGTERM)
try:
    dg.train(src, tgt, out=out, settings=json.loads(settings), listener=end)
except KeyboardInterrupt as stopped:
    print(stopped)
"""


@pytest.mark.parametrize("answer", ["own", "none"])
def test_sigterm_saves_and_then_is_the_callers(corpus: tuple[str, str], tmp_path: Path, answer: str) -> None:
    done = python(TERMINATED, *corpus, str(tmp_path / "run"), json.dumps(SMALL), answer)
    assert any((tmp_path / "run" / "checkpoints").iterdir()), done.stderr
    if answer == "own":
        assert done.stdout.split("\n")[0] == "mine"
        assert "saved at update" in done.stdout
    else:
        assert done.returncode == -signal.SIGTERM


SAME = """
from pathlib import Path
import torch
folder, multiplied = arguments
if multiplied == "multiplied":
    torch.ones(64, 64) @ torch.ones(64, 64)
from inference.runtimes.test_torch import TEXTS, TRANSFORMER, tiny_folder
import dragoman as dg
model = dg.load(tiny_folder(Path(folder), part={**TRANSFORMER, "width": 256}), runtime="torch")
print(model.same_bits, [model(text) for text in TEXTS[:20]] == model(list(TEXTS))[:20])
"""


@pytest.mark.slow
@pytest.mark.skipif(not torch.backends.mkl.is_available(), reason="this torch multiplies without MKL")
@pytest.mark.parametrize("multiplied", ["", "multiplied"])
@pytest.mark.parametrize("environ", [{}, {"MKL_CBWR": "AUTO,STRICT"}], ids=["as it is", "strict"])
def test_it_is_told_whether_bits_are_the_same(
    tmp_path: Path, environ: dict[str, str], multiplied: str
) -> None:
    done = python(SAME, str(tmp_path / "model"), multiplied, **environ)
    assert done.returncode == 0, done.stderr
    told, seen = done.stdout.split()
    assert told == seen
    assert told == "True" or not environ


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "strict"),
    [
        ("main(['run', folder, 'a dog', '--runtime', 'torch'])", True),
        ("main(['run', folder, 'a dog', '--forbid', 'cat'])", True),  # which goes to torch
        ("main(['run', folder, 'a dog'])", False),  # CTranslate2 would be slower for nothing
        ("load(folder, runtime='torch', same_bits=True)", True),
        ("load(folder, runtime='torch')", False),
    ],
)
def test_who_asks_for_the_same_bits_gets_them(folder: Path, asked: str, strict: bool) -> None:
    program = "import os\nfrom dragoman import load\nfrom dragoman.cli.main import main\n"
    program += f"folder = arguments[0]\n{asked}\nprint(os.environ.get('MKL_CBWR'))"
    done = python(program, str(folder))
    assert done.stdout.split("\n")[-2] == ("AUTO,STRICT" if strict else "None"), done.stderr
