"""`dragoman info`: describe a model; list settings and presets."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.cli.terminal import give, say, talk
from dragoman.errors import UsageError

if TYPE_CHECKING:
    from dragoman.config.root import Config
    from dragoman.manifest import Manifest

HELP = """\
Describe a model: its network, vocabulary, data, training and scores. Or list the settings.

  dragoman info en-de
  dragoman info --settings             all settings and defaults
  dragoman info --settings dropout     settings about dropout
  dragoman info --presets              networks by name
  dragoman info --schema > dragoman.schema.json  for editors that complete TOML"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", nargs="?", metavar="MODEL", help="a run folder, its model/, or a project folder")
    add(
        "--settings",
        nargs="?",
        const="",
        metavar="WORD",
        help="list the settings, or those that mention WORD",
    )
    add("--presets", action="store_true", help="list the networks that model.preset can name")
    add("--schema", action="store_true", help="print the JSON schema of dragoman.toml")
    add("--json", action="store_true", help="print the description of a model as one JSON object")


def run(args: argparse.Namespace) -> int:
    if args.schema:
        from dragoman.config.schema import schema

        give(json.dumps(schema(), indent=1) + "\n")
    elif args.settings is not None:
        list_settings(args.settings)
    elif args.presets:
        list_presets()
    elif args.model:
        facts = facts_of(args.model)
        if args.json:
            say(json.dumps(facts, ensure_ascii=False))
        else:
            for name, fact in facts.items():
                say(f"{name:<11} {fact}")
            talk(f"Next: {next_command(args.model)}")
    else:
        raise UsageError(
            "No model was given.", where="the command line", expected="MODEL", hint="dragoman info --help"
        )
    return 0


def list_settings(word: str) -> None:
    from dragoman.config.expected import expected_at
    from dragoman.config.schema import described

    def words(name: str) -> str:
        return expected_at(tuple(name.split(".")), None).words

    found = [
        row for row in described() if word.lower() in f"{row.name} {row.about} {words(row.name)}".lower()
    ]
    if not found:
        raise UsageError(
            f'No setting has "{word}" in its name, its description or its values.',
            where=f"--settings {word}",
            hint="dragoman info --settings lists them all.",
        )
    for row in found:
        default = f" = {row.default}" if row.default else ""
        say(f"{row.name}{default}")
        say(f"    {row.about}")


def list_presets() -> None:
    from dragoman.cli.model_text import in_full
    from dragoman.config.load import validate
    from dragoman.config.presets import PRESETS

    say("auto                the default: chosen for your data and your machine")
    for name in PRESETS:
        model = validate(
            {"data": {"train": "x.tsv"}, "model": {"preset": name}, "text": {"joint": True}}
        ).model
        say(f"{name:<19} {in_full(model)}")
    talk("Next: dragoman train DATA -o DIR model.preset=NAME")


def facts_of(path: str) -> dict[str, Any]:
    """Return the facts about a model, without torch: from its settings, weights header and events."""
    from dragoman.cli.format import format_bytes, format_count
    from dragoman.cli.model_text import in_full, units
    from dragoman.config.presets import preset_of
    from dragoman.data.readers.file_languages import corpus_languages
    from dragoman.inference.find_model import find_model
    from dragoman.inference.verify import read_parts
    from dragoman.models.folder import exports, open_folder, packages

    folder = find_model(path)
    manifest = open_folder(folder)
    config, text = read_parts(manifest)
    preset = f" ({name})" if (name := preset_of(config.model)) else ""
    facts: dict[str, Any] = {"task": config.task, "model": in_full(config.model) + preset}
    if numbers := parameters(folder):
        facts["parameters"] = format_count(numbers)
    facts["text"] = units(config, (text.src.size, text.tgt.size))
    corpus = config.data.train[0]
    if names := corpus_languages(corpus.files, corpus.languages):
        facts["languages"] = " → ".join(names)
    facts |= {"data": data(config), **trained(Path(path)), **search(config), **confidence(manifest)}
    written = [*exports(folder), *(["argos"] if packages(folder) else [])]
    facts["exports"] = ", ".join(written) or "none; dragoman export creates them"
    facts["size"] = format_bytes(sum(fact.bytes for fact in manifest.files.values()))
    return facts | {"folder": str(folder)}


def next_command(path: str) -> str:
    from dragoman.cli.next_commands import to_run
    from dragoman.inference.find_model import find_model
    from dragoman.tasks.load import settings_of

    return to_run(settings_of(find_model(path)), path)


def parameters(folder: Path) -> int:
    from dragoman.models.folder import WEIGHTS
    from dragoman.models.header import MAX_HEADER_BYTES, entries

    file = folder / WEIGHTS
    if not file.exists():  # a standalone export
        return 0
    with file.open("rb") as stream:
        head = stream.read(8)
        head += stream.read(min(MAX_HEADER_BYTES, int.from_bytes(head, "little")))
    return sum(entry.numbers for entry in entries(head, file.stat().st_size).values())


def data(config: Config) -> str:
    names = [" + ".join(Path(file).name for file in corpus.files) for corpus in config.data.train]
    return ", ".join(names) or "not known"


def trained(out: Path) -> dict[str, str]:
    """Return facts from the run's events.jsonl; none for a model that was copied without it."""
    from dragoman.cli.format import duration
    from dragoman.cli.training_view.summary import scores
    from dragoman.tasks.search_choice import SearchChoice
    from dragoman.training.events import read_events

    ends = [event for event in read_events(out / "events.jsonl") if event["event"] == "finished"]
    if not ends:
        return {}
    try:
        return {
            "trained": f"{ends[-1]['step']:,} updates in {duration(ends[-1]['seconds'])}",
            "validation": scores(ends[-1]["valid"]),
            **({"searches": SearchChoice(**choice).sentence} if (choice := ends[-1].get("search")) else {}),
        }
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return {}


def confidence(manifest: Manifest) -> dict[str, str]:
    """Return what is to be known of the calibration, if it is not as it should be."""
    from dragoman.inference.runtimes.exports import load_calibration

    calibration = load_calibration(manifest)
    return {"confidence": calibration.warning} if calibration and calibration.warning else {}


def search(config: Config) -> dict[str, str]:
    """Return how answers are searched; nothing for heads whose answers are found without."""
    from dragoman.config.parts.head import StateHeadPart

    found = config.search
    if isinstance(config.model.head, StateHeadPart):
        return {}
    careful = "careful " if found.stop == "heuristic" else ""
    return {"search": f"{careful}beam of {found.size}" if found.kind == "beam" else found.kind}
