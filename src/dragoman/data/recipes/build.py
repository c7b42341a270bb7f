"""The table of recipes, and the folder created for each. A new recipe is one folder and one line here."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from dragoman.data.readers.open_pairs import open_pairs
from dragoman.data.recipes.chat.generate import splits as chat
from dragoman.data.recipes.commands.generate import splits as commands
from dragoman.data.recipes.dates.generate import splits as dates
from dragoman.data.recipes.from_rnn_to_attention.generate import splits as digits
from dragoman.data.recipes.g2p.generate import splits as g2p
from dragoman.data.recipes.grammar.generate import splits as grammar
from dragoman.data.recipes.intents.generate import splits as intents
from dragoman.data.recipes.ocr import generate as ocr
from dragoman.data.recipes.recipe import Recipe
from dragoman.data.recipes.reverse.generate import splits as reverse
from dragoman.data.recipes.slots.generate import splits as slots
from dragoman.data.recipes.spelling.generate import splits as spelling
from dragoman.data.recipes.tones import generate as tones
from dragoman.data.split import Part, split
from dragoman.errors import UsageError

RECIPES = {
    "dates": Recipe(
        "dates",
        "dates written in ten languages → 1987-03-03: learned in one to three minutes on two cores",
        dates,
    ),
    "reverse": Recipe(
        "reverse", "reverse the letters of a word: learned in seconds, for a first try", reverse
    ),
    "from-rnn-to-attention": Recipe(
        "from_rnn_to_attention",
        "seven networks learn to spell out digits: why attention helps, in ten minutes",
        digits,
        # in the order of publication
        lesson=(
            "elman",
            "cho2014",
            "sutskever2014",
            "bahdanau2015",
            "luong2015",
            "convs2s2017",
            "transformer",
        ),
    ),
    "spelling": Recipe("spelling", "misspelt words → the words that were meant", spelling),
    "g2p": Recipe("g2p", "letters → phonemes: how a word is pronounced", g2p),
    "commands": Recipe(
        "commands", "jump twice → JUMP JUMP: commands to actions, and what is not learned", commands
    ),
    "chat": Recipe("chat", "prompts → replies: small talk", chat),
    "grammar": Recipe(
        "grammar", "sentences of a small grammar: a language model, learned in seconds", grammar, "txt"
    ),
    "slots": Recipe("slots", "a tag for each word of a request: which words fill which slot", slots, "conll"),
    "intents": Recipe("intents", "a label for each question: what it is about", intents),
    "ocr": Recipe(
        "ocr",
        "pictures of drawn words → the words, by CTC: learned in two minutes",
        ocr.splits,
        write_source=ocr.write_source,
    ),
    "tones": Recipe(
        "tones",
        "sounds of dialled numbers → the keys, by CTC: learned in half a minute",
        tones.splits,
        write_source=tones.write_source,
    ),
    "synopsis": Recipe("synopsis", "a paragraph → one line that sums it up (needs --data)"),
}
HELD_OUT = 1000  # pairs of the user's data for validation, and as many for test; at most 5 % each
SEED = 1  # of the choice


def make_recipe(name: str, folder: Path, data: Sequence[Path] = (), *, force: bool = False) -> list[Path]:
    """Write the data, settings and README.md of a recipe to `folder`, and return the files.

    `data` is one corpus: training, validation and test are parts of it instead of being generated.
    """
    recipe = RECIPES[name]
    refuse_used(name, folder, force=force)
    texts = recipe.texts
    parts: dict[str, Part] = {}
    if data and recipe.write_source:
        raise takes_no_data(name)
    if data:
        parts = split(lambda: open_pairs(data), data, HELD_OUT, SEED, folder)
        texts = {file: with_files(text, parts) for file, text in texts.items()}
        texts["README.md"] += sizes(data, parts)
    elif recipe.splits is None:
        raise needs_data(name)
    generated = recipe.splits() if recipe.splits else {}
    as_text = WRITERS[recipe.form]
    texts |= {f"{part}.{recipe.form}": as_text(generated[part]) for part in generated if part not in parts}
    texts["README.md"] = texts["README.md"].replace("FOLDER", str(folder))
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in texts.items():
        (folder / file).write_text(text, encoding="utf-8", newline="\n")
    if recipe.write_source:
        write_sources(folder, generated, recipe.write_source)
    return [*(folder / file for file in texts), *(file for part in parts.values() for file in part.files)]


def write_sources(
    folder: Path, generated: Mapping[str, Iterable[tuple[str, str]]], write: Callable[[Path, str], None]
) -> None:
    """Write the files that the generated pairs have as their sources."""
    for part, pairs in generated.items():
        (folder / part).mkdir(exist_ok=True)
        for src, tgt in pairs:
            write(folder / src, tgt)


def as_lines(pairs: Iterable[tuple[str, str]]) -> str:
    return "".join(f"{src}\t{tgt}\n" for src, tgt in pairs)


def targets(pairs: Iterable[tuple[str, str]]) -> str:
    return "".join(f"{tgt}\n" for _, tgt in pairs)


def columns(pairs: Iterable[tuple[str, str]]) -> str:
    """Return a word and its tag per line, and a blank line after each pair."""
    sides = ((src.split(" "), tgt.split(" ")) for src, tgt in pairs)
    return "".join(as_lines(zip(words, tags, strict=True)) + "\n" for words, tags in sides)


WRITERS = {"tsv": as_lines, "txt": targets, "conll": columns}


def with_files(text: str, parts: Mapping[str, Part]) -> str:
    """Return a settings file or README with these files in place of the generated ones."""
    for name, part in parts.items():
        names = [file.name for file in part.files]
        text = text.replace(f'"{name}.tsv"', json.dumps(names if len(names) > 1 else names[0]))
        text = text.replace(f"FOLDER/{name}.tsv", " ".join(f"FOLDER/{file}" for file in names))
    return text


def sizes(data: Sequence[Path], parts: Mapping[str, Part]) -> str:
    """Return a section of the README on the user's data."""
    counts = "".join(
        f"| {' '.join(file.name for file in part.files)} | {part.pairs:,} |\n" for part in parts.values()
    )
    names = " and ".join(file.name for file in data)
    return f"\n## Your data\n\nThis folder was made from {names}:\n\n| file | pairs |\n|---|---|\n{counts}"


def refuse_used(name: str, folder: Path, *, force: bool) -> None:
    if folder.is_file():
        raise UsageError(
            "A file of this name exists.",
            where=str(folder),
            expected="a folder that is empty or does not exist yet",
            hint=f"dragoman new {name} -o another-folder",
        )
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise UsageError(
            "The folder is not empty.",
            where=str(folder),
            expected="a folder that is empty or does not exist yet",
            hint=f"dragoman new {name} -o another-folder, or --force to overwrite the recipe's files in it.",
        )


def takes_no_data(name: str) -> UsageError:
    return UsageError(
        f"{name} has no --data: its sources are files, whose paths are relative to the list of them.",
        where="the command line",
        expected="no --data; the lists of your own files are named in dragoman.toml",
        hint=f"dragoman new {name}, then edit data.train in its dragoman.toml",
    )


def needs_data(name: str) -> UsageError:
    return UsageError(
        f"{name} has no data of its own.",
        where="the command line",
        expected="--data with two text files (source, target), or one .tsv, .csv or .jsonl",
        hint=f"dragoman new {name} --data pairs.tsv",
    )
