"""`dragoman info` says what a model is and which settings there are; `completion` completes them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from dragoman.cli.main import VERBS, main
from dragoman.config.key_lookup import all_names
from dragoman.config.load import validate
from dragoman.config.presets import PRESETS, preset_of
from dragoman.config.schema import described, schema
from dragoman.data.recipes.build import RECIPES
from dragoman.models.builders.network import new_model
from dragoman.models.bundle import Bundle
from dragoman.text.build import learn
from support.tiny_bundle import saved, tiny_folder


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("info")
    tiny_folder(folder / "model")
    valid = {"loss": 1.0, "chrf": 40.0, "bleu": 20.0, "exact_match": 50.0}
    event = {"event": "finished", "step": 1234, "seconds": 600.0, "valid": valid}
    (folder / "events.jsonl").write_text(json.dumps(event) + "\n", encoding="utf-8")
    return folder


def test_a_model_is_said_in_a_few_lines(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(model)]) == 0
    out = capsys.readouterr().out
    for part in (
        "model ",
        "parameters ",
        "units for both sides",
        "1,234 updates in 10 min",
        "BLEU 20.0",
        "none; ",
    ):
        assert part in out


@pytest.mark.parametrize(
    "event",
    [
        {"event": "finished", "step": "many", "seconds": None, "valid": []},
        {"event": "finished"},
        {"event": "finished", "step": 1, "seconds": 1e999, "valid": {"loss": "low"}},
        {"event": "finished", "step": 1, "seconds": 1, "valid": {"loss": 1}, "search": {"other": 1}},
    ],
)
def test_a_record_of_other_types_is_left_out(
    event: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny_folder(tmp_path / "model")
    (tmp_path / "events.jsonl").write_text(json.dumps(event) + "\n", encoding="utf-8")
    assert main(["info", str(tmp_path), "--json"]) == 0
    assert "trained" not in json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("kind", ["FIFO", "device"])
def test_a_record_that_is_no_file_is_not_waited_for(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny_folder(tmp_path / "model")
    if kind == "FIFO":
        os.mkfifo(tmp_path / "events.jsonl")
    else:
        (tmp_path / "events.jsonl").symlink_to("/dev/zero")
    assert main(["info", str(tmp_path), "--json"]) == 0
    assert "trained" not in json.loads(capsys.readouterr().out)


def test_a_model_is_said_as_json(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(model / "model"), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert "trained" not in facts  # the events are of the run, which is not here
    assert facts["folder"] == str(model / "model")


OTHERS: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "tag": (
        {"model": {"head": {"kind": "crf", "label": True}}},
        {
            "model": "lstm, 1 layer × width 128, bidirectional → a conditional random field, "
            "and a label by query pooling",
            "text": "262 spelled source units, 7 word target units",
        },
    ),
    "classify": (
        {"model": {"pooling": {"kind": "mean"}}},
        {"model": "lstm, 1 layer × width 128, bidirectional → mean pooling → a softmax over labels"},
    ),
    "transcribe": (
        {"data": {"train": "train.tsv", "source": {"kind": "sound"}}},
        {
            "model": "lstm, 1 layer × width 256, bidirectional → CTC (rnn-small)",
            "text": "sound sources, 6 char target units",
            "search": "beam of 5",
        },
    ),
    "lm": (
        {"text": {"kind": "word"}, "model": {"decoder": {"kind": "rnn", "width": 32, "embedding": 32}}},
        {"model": "lstm, 1 layer × width 32", "text": "7 word units", "search": "sample"},
    ),
}


@pytest.mark.parametrize("task", OTHERS)
def test_the_network_of_each_task_is_said_without_parts_that_it_does_not_have(
    task: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings, expected = OTHERS[task]
    config = validate({"data": {"train": "train.tsv"}, **settings, "task": task})
    pairs = {"lm": [("a b", "a b")], "tag": [("a", "@b b"), ("b", "@b b")]}
    text = learn(config.text, pairs.get(task, [("a", "b"), ("b", "a")]))
    saved(tmp_path / "model", Bundle(config, text, new_model(config, text)))
    assert main(["info", str(tmp_path), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["task"] == task
    assert {name: facts[name] for name in expected} == expected
    assert ("search" in facts) == ("search" in expected)


@pytest.mark.parametrize(("task", "input"), [("lm", "--continue TEXT"), ("transcribe", "FILE.wav")])
def test_the_next_command_suits_the_model(
    task: str, input: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = validate({"data": {"train": "train.tsv"}, **OTHERS[task][0], "task": task})
    text = learn(config.text, [("a b", "a b")])
    saved(tmp_path / "model", Bundle(config, text, new_model(config, text)))
    for verb in ("info", "check"):
        assert main([verb, str(tmp_path)]) == 0
        assert f"Next: dragoman run {tmp_path} {input}" in capsys.readouterr().err


def test_a_preset_is_named_if_the_network_has_its_size() -> None:
    tables: dict[str, Any] = {"data": {"train": "a.tsv"}, "model": {"preset": "transformer-tiny"}}
    assert preset_of(validate(tables).model) == "transformer-tiny"
    tables["model"]["encoder"] = {"dropout": 0.2}
    assert preset_of(validate(tables).model) == "transformer-tiny"
    tables["model"]["encoder"] = {"layers": 2}
    assert preset_of(validate(tables).model) is None


def test_settings_are_listed_and_searched(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "--settings"]) == 0
    out = capsys.readouterr().out
    assert {line.split(" = ")[0] for line in out.split("\n") if line[:1].strip()} == set(all_names())
    assert main(["info", "--settings", "Warmup"]) == 0
    names = [line for line in capsys.readouterr().out.split("\n") if line[:1].strip()]
    assert "training.warmup" in names
    assert len(names) < 10
    assert main(["info", "--settings", "additive"]) == 0  # a value
    assert "model.decoder.attention" in capsys.readouterr().out
    assert main(["info", "--settings", "nosuchword"]) == 2


def test_every_setting_has_a_description() -> None:
    assert all(row.about for row in described())


def test_presets_are_listed_with_their_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "--presets"]) == 0
    lines = capsys.readouterr().out.strip().split("\n")
    assert [line.split()[0] for line in lines] == ["auto", *PRESETS]
    assert "2+2 layers × width 128" in lines[1]


def test_nothing_asked_says_what_can_be(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info"]) == 2
    assert "No model was given." in capsys.readouterr().err


def fits(value: Any, node: dict[str, Any], root: dict[str, Any]) -> bool:
    """As much of JSON schema as ours uses."""
    if "$ref" in node:
        return fits(value, root["$defs"][node["$ref"].rpartition("/")[2]], root)
    if "anyOf" in node:
        return any(fits(value, one, root) for one in node["anyOf"])
    if "const" in node or "enum" in node:
        return value in node.get("enum", [node.get("const")])
    match node.get("type"):
        case "object":
            known = node.get("properties", {})
            is_whole = (
                all(name in value for name in node.get("required", ())) if isinstance(value, dict) else False
            )
            return is_whole and all(k in known and fits(v, known[k], root) for k, v in value.items())
        case "array":
            return isinstance(value, list) and all(fits(v, node.get("items", {}), root) for v in value)
        case "string":
            return isinstance(value, str)
        case "number" | "integer":
            return isinstance(value, int | float)
        case "boolean":
            return isinstance(value, bool)
    return True


def test_the_schema_fits_the_settings_of_every_recipe() -> None:
    found = schema()
    for recipe in RECIPES.values():
        for text in (text for file, text in recipe.texts.items() if file.endswith(".toml")):
            assert fits(tomllib.loads(text), found, found)
    assert not fits({"data": {"train": "a.tsv"}, "training": {"updats": 3}}, found, found)
    assert not fits({"data": {"train": "a.tsv"}, "training": {"schedule": "cubic"}}, found, found)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "tcsh", "powershell"])
def test_a_script_names_every_verb_and_can_be_read_by_its_shell(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(verb in script for verb in VERBS)
    assert ("training.updates=" in script) == (shell in ("bash", "zsh", "fish"))
    assert "rouge_l" in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True)


def test_bash_completes_verbs_options_settings_metrics_and_files(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "mine.tsv").touch()
    main(["completion", "bash"])
    script = capsys.readouterr().out

    def completed(*words: str) -> list[str]:
        line = f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _dragoman 2>/dev/null"
        done = subprocess.run(
            ["bash", "-c", f'{script}\n{line}\nprintf "%s\\n" "${{COMPREPLY[@]}}"'],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.split()

    assert completed("dragoman", "tr") == ["train", "trim"]
    assert completed("dragoman", "train", "--bu") == ["--budget"]
    assert completed("dragoman", "train", "a.tsv", "training.up") == ["training.updates="]
    assert completed("dragoman", "train", "a.tsv", "-o", "en-de", "--yes", "search.si") == ["search.size="]
    assert "model.preset=rnn-small" in completed("dragoman", "train", "model.pre")
    assert completed("dragoman", "run", "model", "search.si") == ["search.size="]
    assert completed("dragoman", "run", "model", "training.up") == []
    assert completed("dragoman", "run", "model", "--runtime", "o") == ["onnx"]
    assert completed("dragoman", "score", "model", "-m", "rouge_") == ["rouge_1", "rouge_2", "rouge_l"]
    assert completed("dragoman", "train", "mine") == ["mine.tsv"]
    assert completed("dragoman", "train", "--from", "mine") == ["mine.tsv"]
