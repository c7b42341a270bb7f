"""A machine without torch: an export runs, scores and streams; the rest says what to type."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.numpy import load_file, save_file

from hostile.refused import remade
from support.exported_folder import LINES, exported_folder

BLOCK = """
import sys
for name in ("torch", "jaxtyping"):
    sys.modules[name] = None
"""
USE = """
import json
import dragoman
assert not {"numpy", "ctranslate2", "pydantic"} & set(sys.modules), "import dragoman is light"
folder, test = sys.argv[1:]
model = dragoman.load(folder)
search = {"size": 3, "n_best": 2}
result = model("the cat sat", search, details=True)
assert model("the cat sat", search, prefix="the ").text.startswith("the ")
said = {
    "runtime": model.runtime.name,
    "alternatives": len(result.alternatives),
    "details": len(result.details),
    "streamed": "".join(model.stream("the cat sat")) == model("the cat sat", {"kind": "greedy"}).text,
    "bleu": dragoman.score(model, test).scores["bleu"].value,
    "texts": [one.text for one in model(["the cat", "", "two dogs"])],
}
asks = [
    lambda: dragoman.train,
    lambda: model("a", trace=True),
    lambda: dragoman.load(folder, runtime="torch"),
]
for ask in asks:
    try:
        ask()
    except Exception as error:
        said.setdefault("refused", []).append([type(error).__name__, error.hint])
try:
    dragoman.load(folder, runtime="jax")
except Exception as error:
    said["unknown"] = str(error)
print(json.dumps(said))
"""
MAIN = "\nfrom dragoman.cli.main import main\nraise SystemExit(main())\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("alone") / "model"
    exported_folder(folder, babbles=False)
    (folder.parent / "test.tsv").write_text("".join(f"{line}\t{line}\n" for line in LINES), encoding="utf-8")
    return folder


def without_torch(program: str, *arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", BLOCK + program, *arguments]
    return subprocess.run(command, input=typed, capture_output=True, text=True, timeout=600)


def test_python_without_torch(folder: Path) -> None:
    done = without_torch(USE, str(folder), str(folder.parent / "test.tsv"))
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["runtime"], said["alternatives"], said["streamed"]) == ("ct2", 2, True)
    assert said["texts"][1] == ""
    assert said["details"] > 0
    assert said["bleu"] >= 0
    assert [kind for kind, _ in said["refused"]] == ["MissingExtra", "UsageError", "MissingExtra"]
    assert all('pip install "dragoman[train]"' in hint for _, hint in said["refused"])
    assert said["unknown"].startswith('There is no runtime "jax".')


def test_the_command_line_without_torch(folder: Path) -> None:
    typed = "the cat\n\ntwo dogs and a cat"
    done = without_torch(MAIN, "run", str(folder), "--json", typed=typed)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.removesuffix("\n").split("\n")]
    assert len(lines) == 3
    assert lines[1]["text"] == ""
    plain = without_torch(MAIN, "run", str(folder), "--runtime", "ct2", "search.size=5", typed=typed)
    assert plain.stdout.count("\n") == 2
    scored = without_torch(MAIN, "score", str(folder), str(folder.parent / "test.tsv"), "--json")
    assert scored.returncode == 0, scored.stderr
    assert json.loads(scored.stdout)["sentences"] == len(LINES)


def test_what_needs_torch_is_refused_in_words(folder: Path) -> None:
    for arguments in (["--trace", "trace.json"], ["--glossary", "terms.tsv"], ["--runtime", "torch"]):
        (folder.parent / "terms.tsv").write_text("cat\tmat\n", encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-c", BLOCK + MAIN, "run", str(folder), "the cat", *arguments],
            capture_output=True,
            text=True,
            timeout=600,
            cwd=folder.parent,
        )
        assert done.returncode == 2, done.stderr
        assert 'pip install "dragoman[train]"' in done.stderr
        assert done.stdout == ""


def test_an_export_without_its_engine_asks_for_the_engine_and_not_for_torch(folder: Path) -> None:
    no_engine = 'sys.modules["ctranslate2"] = None\n' + MAIN
    done = without_torch(no_engine, "run", str(folder), "the cat")
    assert done.returncode == 2, done.stderr
    assert "Running this export needs ctranslate2" in done.stderr
    assert "pip install ctranslate2" in done.stderr
    assert "dragoman[train]" not in done.stderr


def test_who_receives_a_model_can_verify_it_without_torch(folder: Path, tmp_path: Path) -> None:
    model = Path(shutil.copytree(folder, tmp_path / "model"))
    done = without_torch(MAIN, "check", str(model), "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert "comparing their shapes needs PyTorch" in found["weights"]
    weights = load_file(model / "weights.safetensors")
    weights["head.b"][5] = float("nan")
    save_file(weights, model / "weights.safetensors")
    remade(model)
    shutil.rmtree(model / "ct2")
    done = without_torch(MAIN, "check", str(model))
    assert done.returncode == 1
    assert "The weights hold NaN or infinity, in head.b." in done.stderr
    with (model / "card.md").open("a", encoding="utf-8") as card:
        card.write("better")
    assert "card.md" in without_torch(MAIN, "check", str(model)).stderr
