"""What a run folder keeps about its data and settings, and the command that repeats the run."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from dragoman.config.dump import leaves
from dragoman.config.load import validate
from dragoman.config.root import Config
from dragoman.data.readers.file_languages import corpus_languages
from dragoman.data.store.reader import StoreReader
from dragoman.errors import DataError
from dragoman.reports.report import CorpusCard, RunCard
from dragoman.training.events import FinishedEvent, StartEvent, read_events

SETTINGS = "settings.toml"
NOT_LEFT_OUT = ("read", "kept")
NOT_SETTINGS = ("data.train", "data.valid", "data.test", "model.why")


def run_card(folder: Path, config: Config) -> RunCard:
    """Return what is known of the run that wrote a model folder."""
    out = run_of(folder)
    started, finished = record_of(out)
    run: Mapping[str, Any] = started["run"] if started else {}
    parts = (f"{part.name}, {part.layers} × {part.shape}" for part in config.model.parts.values())
    return RunCard(
        task=config.task,
        model=" → ".join(dict.fromkeys(parts)),
        corpora=tuple(corpora(config, out, run.get("data", {}))),
        validation=validation(config, run.get("data", {})),
        command=shlex.join(["dragoman", "train", "-c", str(out / SETTINGS), "-o", f"{name_of(out)}-again"]),
        is_exact=config.training.budget is None,
        seed=config.training.seed,
        versions={name: str(run[name]) for name in ("dragoman", "torch", "threads") if name in run}
        or {"dragoman": version("dragoman")},
        settings=unusual(config),
        parameters=started["parameters"] if started else 0,
        updates=finished["step"] if finished else 0,
        seconds=finished["seconds"] if finished else 0.0,
    )


def run_of(folder: Path) -> Path:
    """Return the run folder of a model folder; the model folder itself if it was copied from there."""
    return folder.parent if (folder.parent / "events.jsonl").is_file() else folder


def name_of(folder: Path) -> str:
    return folder.absolute().name


def record_of(out: Path) -> tuple[StartEvent | None, FinishedEvent | None]:
    started: StartEvent | None = None
    finished: FinishedEvent | None = None
    for event in read_events(out / "events.jsonl"):
        if event["event"] == "start":
            started = event
        elif event["event"] == "finished":
            finished = event
    return started, finished


def corpora(config: Config, out: Path, identity: Mapping[str, Any]) -> Iterator[CorpusCard]:
    """Yield the training corpora, with the numbers and hashes that the run recorded."""
    given, rows = identity.get("given", []), identity.get("rows", [])
    for number, corpus in enumerate(config.data.train):
        known = given[number] if number < len(given) else {}
        size = rows[number] if number < len(rows) else {}
        yield CorpusCard(
            files=tuple(os.path.basename(file) for file in corpus.files),
            sha256=tuple(known.get("sha256", ())),
            weight=corpus.weight,
            languages=" → ".join(corpus_languages(corpus.files, corpus.languages)),
            licence=corpus.licence or "",
            left_out=left_out(out / "store" / f"corpus-{number}"),
            **{name: number for name, number in size.items() if name != "frames"},
        )


def left_out(store: Path) -> dict[str, int]:
    """Return the number of pairs that were not trained on, by reason; nothing if the store is gone."""
    try:
        counts = StoreReader(store).manifest.counts
    except DataError:
        return {}
    return {name: count for name, count in counts.items() if count and name not in NOT_LEFT_OUT}


def validation(config: Config, identity: Mapping[str, Any]) -> str:
    pairs = f"{identity['valid_pairs']:,} pairs" if identity else "pairs"
    if config.data.valid is None:
        return f"{pairs}, held out of the training data"
    return f"{pairs} of {' + '.join(os.path.basename(file) for file in config.data.valid.files)}"


def unusual(config: Config) -> dict[str, str]:
    """Return the settings that differ from the defaults: those of the preset for the model, and for the rest
    those that follow from the task and the model."""
    own = config.model_dump(mode="json")
    named = {"task": config.task, "data": {"train": "x.tsv", "source": own["data"]["source"]}}
    preset, same = (
        validate({**named, "model": model}).model_dump(mode="json")
        for model in ({"preset": config.model.preset}, own["model"])
    )
    defaults = dict(leaves({**same, "model": preset["model"]}))
    changed = {
        ".".join(path): value
        for path, value in leaves(own)
        if value is not None and (path not in defaults or defaults[path] != value)
    }
    return {
        name: json.dumps(value, ensure_ascii=False)
        for name, value in changed.items()
        if not name.startswith(NOT_SETTINGS)
    }
