"""A resumed run has the data, the vocabulary and the settings that it began with, or says what differs."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file

from dragoman.config.load import load
from dragoman.data.recipes.reverse.generate import splits
from dragoman.durable import MANIFEST, new_folder
from dragoman.errors import CheckpointError, DataError, DragomanError, UsageError
from dragoman.training.run import Run, RunResult
from dragoman.training.state.resume import settings

PART = {"kind": "transformer", "layers": 1, "width": 16, "heads": 2, "ffn": 32}
STOP, UPDATES = 4, 8
Event = dict[str, Any]
Tables = dict[str, Any]


class Corpus:
    """A folder with a small corpus, settings for it, and runs in it."""

    def __init__(self, home: Path) -> None:
        self.home = home

    @property
    def train(self) -> Path:
        return self.home / "train.tsv"

    def settings(self, **training: Any) -> Tables:
        return {
            "data": {
                "train": [{"files": [str(self.train)]}],
                "valid": {"files": [str(self.home / "valid.tsv")]},
            },
            "text": {"kind": "bpe", "size": 300},
            "model": {"encoder": PART, "decoder": PART},
            "search": {"kind": "greedy", "max_length": 8},
            "training": {
                "updates": UPDATES,
                "batch_tokens": 60,
                "threads": 1,
                "checkpoint_every": 2,
                "valid_decode": 2,
                "precision": "fp32",
                **training,
            },
        }

    def run(
        self, tables: Tables | None = None, out: str = "run", stop: int = 0, force: bool = False
    ) -> RunResult:
        self.events: list[Event] = []

        def listen(event: Event) -> None:
            self.events.append(event)
            if event["event"] == "step" and event["step"] == stop:
                os.kill(os.getpid(), signal.SIGINT)

        config = load(None, base=tables or self.settings(), run=None if force else self.home / out)
        return Run(config, self.home / out, [listen], lambda _: True).train(force=force)

    def kept(self, out: str = "run") -> dict[str, bytes]:
        """All that an unfinished run needs to go on."""
        files = [*(self.home / out / "store").rglob("*"), *(self.home / out / "checkpoints").rglob("*")]
        return {
            str(file): file.read_bytes() for file in files if file.is_file() and file.name != "sources.json"
        }

    def weights(self, out: str) -> dict[str, bytes]:
        arrays = load_file(self.home / out / "model" / "weights.safetensors")
        return {name: array.tobytes() for name, array in arrays.items()}

    @property
    def notes(self) -> str:
        [event] = [event for event in self.events if event["event"] == "resume"]
        return " ".join(event["notes"])


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus, a run of it that is done ("whole"), and one that was stopped ("run")."""
    home = tmp_path_factory.mktemp("begun")
    for name, pairs in splits().items():
        lines = [f"{src}\t{tgt}\n" for src, tgt in pairs[: 300 if name == "train" else 20]]
        (home / f"{name}.tsv").write_text("".join(lines), encoding="utf-8")
    Corpus(home).run(out="whole")
    Corpus(home).run(stop=STOP)
    return home


@pytest.fixture
def corpus(begun: Path, tmp_path: Path) -> Corpus:
    return Corpus(shutil.copytree(begun, tmp_path / "corpus"))


def append(file: Path) -> None:
    file.write_text(file.read_text(encoding="utf-8") + "more\terom\nmuch\thcum\n", encoding="utf-8")


def change_a_line(file: Path) -> None:
    lines = file.read_text(encoding="utf-8").split("\n")
    file.write_text("\n".join(["abc\tcba", *lines[1:]]), encoding="utf-8")


def another_alphabet(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    file.write_text(text.translate({c: 0x400 + c for c in range(ord("a"), ord("z") + 1)}), encoding="utf-8")


CHANGES = {
    append: r"train\.tsv is not the file this run started with: 300 → 302 pairs",
    change_a_line: r"train\.tsv is not the file this run started with: 300 pairs as before, but different",
    another_alphabet: r"train\.tsv is not the file this run started with: 300 pairs as before, but different",
}


@pytest.mark.parametrize("change", CHANGES)
def test_changed_data_is_refused_and_nothing_of_the_run_is_touched(
    corpus: Corpus, change: Callable[[Path], None]
) -> None:
    before, text = corpus.kept(), corpus.train.read_text(encoding="utf-8")
    change(corpus.train)
    with pytest.raises(DataError, match=CHANGES[change]) as caught:
        corpus.run()
    assert str(corpus.train) in caught.value.where
    for way in ("Restore it", "-o OTHER", "--force"):
        assert way in caught.value.hint
    assert corpus.kept() == before
    corpus.train.write_text(text, encoding="utf-8")
    assert corpus.run().reason == "done"
    assert corpus.weights("run") == corpus.weights("whole")


def test_one_of_two_files_that_grew_is_named(corpus: Corpus) -> None:
    tables = corpus.settings()
    files = [corpus.home / "a.src", corpus.home / "a.tgt"]
    for side, file in enumerate(files):
        lines = [
            line.split("\t")[side] for line in corpus.train.read_text(encoding="utf-8").split("\n") if line
        ]
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    tables["data"]["train"] = [{"files": [str(file) for file in files]}]
    corpus.run(tables, out="two", stop=STOP)
    files[1].write_text(files[1].read_text(encoding="utf-8") + "erom\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"^a\.tgt is not the file this run started with: 300 pairs then"):
        corpus.run(tables, out="two")


def test_files_that_were_touched_or_moved_are_the_same_files(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = corpus.home / "moved.tsv"
    os.utime(corpus.train)
    corpus.train.rename(moved)
    tables = corpus.settings()
    tables["data"]["train"] = [{"files": [str(moved)]}]
    monkeypatch.setattr("dragoman.data.build.learn", lambda *_: pytest.fail("a vocabulary is learned anew"))
    assert corpus.run(tables).reason == "done"
    assert corpus.weights("run") == corpus.weights("whole")


def with_valid(tables: Tables, corpus: Corpus) -> None:
    append(corpus.home / "valid.tsv")


def with_weight(tables: Tables, corpus: Corpus) -> None:
    tables["data"]["train"][0]["weight"] = 2.0


def with_two_corpora(tables: Tables, corpus: Corpus) -> None:
    tables["data"]["train"] = [*tables["data"]["train"], {"files": [str(corpus.home / "test.tsv")]}]


def with_shorter_pairs(tables: Tables, corpus: Corpus) -> None:
    tables["data"]["max_length"] = 6


def with_cleaning(tables: Tables, corpus: Corpus) -> None:
    tables["data"]["clean"] = True


def with_held_out(tables: Tables, corpus: Corpus) -> None:
    del tables["data"]["valid"]


OTHERS = {
    with_valid: "The validation pairs are not those this run started with: 20 → 22 pairs",
    with_weight: r"The weight of .*train\.tsv was 1 and is now 2",
    with_two_corpora: r"The number of corpora in data\.train was 1 and is now 2",
    with_shorter_pairs: r"data\.max_length was 256, is 6",
    with_cleaning: r"data\.clean was False, is True",
    with_held_out: r"data\.hold_out|validation pairs are not those",
}


@pytest.mark.parametrize("change", OTHERS)
def test_what_decides_which_pairs_are_seen_cannot_change(
    corpus: Corpus, change: Callable[[Tables, Corpus], None]
) -> None:
    before, tables = corpus.kept(), corpus.settings()
    change(tables, corpus)
    with pytest.raises(DragomanError, match=OTHERS[change]) as caught:
        corpus.run(tables)
    assert "--force" in caught.value.hint
    assert {name: corpus.kept().get(name) for name in before} == before


def replace_vocabulary(text: Path) -> None:
    model = (text / "joint.model").read_bytes()

    def fill(new: Path) -> None:
        for name in ("text.json", "origin"):
            shutil.copy(text / name, new / name)
        (new / "joint.model").write_bytes(model.replace(b"a", b"b", 1))

    with new_folder(text) as new:
        fill(new)


@pytest.mark.parametrize("harm", [shutil.rmtree, replace_vocabulary])
def test_a_vocabulary_that_was_lost_is_learned_again_to_the_same_bytes(
    corpus: Corpus, harm: Callable[[Path], None]
) -> None:
    harm(corpus.home / "run" / "store" / "text")
    assert corpus.run().reason == "done"
    assert corpus.weights("run") == corpus.weights("whole")


def test_a_vocabulary_that_cannot_be_learned_again_is_refused(corpus: Corpus) -> None:
    """As where another version of SentencePiece learns another one."""
    rewrite(corpus, lambda state: state["run"]["data"]["vocabulary"].update({"joint.model": "0" * 64}))
    with pytest.raises(
        DataError, match=r"vocabulary is not the one this run started with: joint\.model differs"
    ):
        corpus.run()


def test_held_out_pairs_are_not_chosen_again(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = corpus.settings()
    del tables["data"]["valid"]
    corpus.run(tables, out="held", stop=STOP)
    monkeypatch.setattr(
        "dragoman.data.examples.open_pairs", lambda *_, **__: pytest.fail("the corpus is read")
    )
    assert corpus.run(tables, out="held").reason == "done"


def test_what_is_other_without_being_wrong_is_said(corpus: Corpus) -> None:
    rewrite(corpus, lambda state: state["run"].update(threads=7, torch="2.0", budget="9h"))
    tables = corpus.settings()
    del tables["training"]["updates"]
    corpus.run(tables | {"training": {**tables["training"], "budget": "5m"}}, stop=STOP + 2)
    assert "threads 7 → 1" in corpus.notes
    assert "torch 2.0 → 2." in corpus.notes
    assert "The budget of 5m is not used: 8 updates were planned" in corpus.notes
    corpus.run(tables)
    assert "threads" not in corpus.notes  # it was said


def test_weights_that_were_best_by_another_measure_are_judged_anew(corpus: Corpus) -> None:
    corpus.run(corpus.settings(valid_metric="loss"))
    assert "training.valid_metric chrf → loss" in corpus.notes
    first, *_ = [event for event in corpus.events if event["event"] == "valid"]
    assert first["best"]


def rewrite(corpus: Corpus, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the state of the newest checkpoint as another version would have written it."""
    folder = sorted((corpus.home / "run" / "checkpoints").iterdir())[-1]
    files = {file.name: file.read_bytes() for file in folder.iterdir() if file.name != MANIFEST}
    state = json.loads(files["state.json"])
    change(state)
    files["state.json"] = json.dumps(state).encode()

    def fill(new: Path) -> None:
        for name, content in files.items():
            (new / name).write_bytes(content)

    with new_folder(folder) as new:
        fill(new)


def test_a_setting_that_is_newer_than_the_run_does_not_end_it(corpus: Corpus) -> None:
    rewrite(corpus, lambda state: state["run"]["settings"].pop("training.label_smoothing"))
    assert corpus.run(stop=STOP + 2).reason == "asked"
    rewrite(corpus, lambda state: state["run"]["settings"].pop("training.label_smoothing"))
    with pytest.raises(UsageError, match=r"training\.label_smoothing was 0\.1, is 0\.3"):
        corpus.run(corpus.settings(label_smoothing=0.3))


@pytest.mark.parametrize("other", [3, 99])
def test_a_run_of_another_version_is_an_error_in_words(corpus: Corpus, other: int) -> None:
    rewrite(corpus, lambda state: state["run"].update(format=other))
    with pytest.raises(CheckpointError, match=rf"Another version .* format {other}, not 4") as caught:
        corpus.run()
    assert caught.value.hint == "Resume it with the version that started it, or start over with --force."


def test_a_run_without_a_whole_checkpoint_is_not_silently_begun_anew(corpus: Corpus) -> None:
    for folder in (corpus.home / "run" / "checkpoints").iterdir():
        (folder / "optimizer.safetensors").unlink()
    with pytest.raises(
        CheckpointError, match=r"No checkpoint of this run is intact\. .*optimizer\.safetensors"
    ):
        corpus.run()
    assert corpus.run(force=True).reason == "done"


def test_a_damaged_checkpoint_is_named(corpus: Corpus) -> None:
    newest = sorted((corpus.home / "run" / "checkpoints").iterdir())[-1]
    (newest / "optimizer.safetensors").unlink()
    corpus.run()
    assert f"{newest.name} is damaged and was skipped: optimizer.safetensors is missing." in corpus.notes


def test_the_longest_output_decides_what_minimum_risk_learns(corpus: Corpus) -> None:
    tables = corpus.settings()
    assert "search.max_length" not in settings(load(None, base=tables))
    tables["training"]["objective"] = {"kind": "minimum_risk"}
    assert settings(load(None, base=tables))["search.max_length"] == 8
