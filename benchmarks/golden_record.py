"""The golden record: what a change of names, rooms or words must leave the same, one hash per line.

    python benchmarks/golden_record.py RECORD [--only PATTERN]      write the record of this tree
    python benchmarks/golden_record.py RECORD --against REVISION    and compare it with that of another one

Every preset (as deep and as shaped as it is, but narrow), objective, tokenizer and output layer is trained
for 20 updates on generated sentences, and every task on its recipe, with one thread and a fixed seed. Each
model answers 50 inputs, those that translate with greedy search and a beam, some with every other search,
under constraints and through the exports. Losses and weights are hashed by value (names may change), answers
field by field; messages about bad settings are whole. Bits depend on the processor and on torch's version, so
two records are compared on one machine: the other revision is checked out and runs its own copy of this
script. `golden_revision.txt` names the last revision that changed behaviour on purpose; a slow test compares
with it.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import hashlib
import io
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported

import numpy as np
from safetensors.numpy import load_file

import dragoman as dg
from dragoman.cli.main import main as command_line
from dragoman.config.dump import leaves
from dragoman.config.load import load as load_settings
from dragoman.config.presets import PRESETS
from dragoman.errors import DragomanError
from dragoman.inference.model import Model, load
from dragoman.inference.runtimes.runtime import RuntimeName

HOME = Path(__file__).resolve().parent.parent
WIDE, NARROWER = 512, 8  # sizes from WIDE on are divided
TRAINING = {
    "training.updates": 20,
    "training.batch_tokens": 512,
    "training.validate_every": 20,
    "training.checkpoint_every": 10,
    "training.average": 2,
    "training.threads": 1,
    "training.seed": 7,
    "text.size": 400,
}
TRANSFORMER, RNN = {"model.preset": "transformer-tiny"}, {"model.preset": "rnn-small"}
RUNS: dict[str, dict[str, Any]] = {
    "objective coverage": {**RNN, "training.objective.coverage": 0.5},
    "objective alignment": {**RNN, "training.objective.alignment": 0.5},
    "objective scheduled_sampling": {
        **RNN,
        "training.objective.kind": "scheduled_sampling",
        "training.objective.half_at": 5,
    },
    "objective scheduled_sampling argmax": {
        **TRANSFORMER,
        "training.objective.kind": "scheduled_sampling",
        "training.objective.decay": "constant",
        "training.objective.reference_floor": 0.5,
        "training.objective.own_token": "argmax",
    },
    "objective two_pass_sampling": {
        **TRANSFORMER,
        "training.objective.kind": "two_pass_sampling",
        "training.objective.half_at": 5,
    },
    "objective minimum_risk": {
        **TRANSFORMER,
        "training.objective.kind": "minimum_risk",
        "training.objective.after": 15,
    },
    "head adaptive": {
        **TRANSFORMER,
        "text.kind": "unigram",
        "model.head.kind": "adaptive",
        "model.head.cutoffs": [100],
        "model.tied": "none",
    },
    "head sampled": {**TRANSFORMER, "model.head.kind": "sampled"},
    "text unigram": {**TRANSFORMER, "text.kind": "unigram", "text.sampling": 0.1},
    "text word": {**RNN, "text.kind": "word", "text.joint": False, "model.tied": "target"},
    "text char": {**RNN, "text.kind": "char"},
    "text byte": {**TRANSFORMER, "text.kind": "byte", "text.lowercase": True},
    "training schedule": {
        **TRANSFORMER,
        "training.schedule": "inverse_sqrt",
        "training.lr": 1e-3,
        "training.warmup": 5,
        "training.micro_batches": 2,
    },
}
SEARCHES: dict[str, dict[str, Any]] = {
    "beam": {"kind": "beam", "size": 4, "n_best": 3},
    "gnmt": {"kind": "beam", "length_norm": "gnmt", "length_penalty": 0.6, "stop": "all"},
    "groups": {"kind": "beam", "size": 4, "groups": 2, "n_best": 2},
    "sample": {"kind": "sample", "top_k": 20, "temperature": 0.8, "n_best": 2},
    "nucleus": {"kind": "sample", "top_p": 0.9},
    "mbr": {"kind": "mbr", "samples": 8},
    "rules": {"kind": "beam", "min_length": 5, "no_repeat_ngram": 2},
}
STEERED: dict[str, dict[str, Any]] = {
    "prefix": {"prefix": "Die"},
    "glossary": {"glossary": {"cat": "Katze", "house": ["Haus", "Gebäude"]}},
    "forbid": {"forbid": ["ist", "Dinge"]},
    "keep": {"keep": True},
    "all": {"prefix": "Die", "glossary": {"cat": "Katze"}, "forbid": ["ist"], "keep": True},
}
TRANSFORMER_PART = '{ kind = "transformer", layers = 2, width = 32, heads = 2, ffn = 64 }'
RNN_PART = '{ kind = "rnn", layers = 1, width = 32, embedding = 32 }'
LAST = "model.pooling={kind='last'}"
# Tasks: the recipe whose data and settings they have, and what is set instead.
TASKS: dict[str, tuple[str, list[str]]] = {
    "tag crf": ("slots", []),
    "tag": ("slots", ["model.head.kind=tags"]),
    "classify": ("intents", []),
    "classify transformer": ("intents", [f"model.encoder={TRANSFORMER_PART}"]),
    "classify multi-kernel": ("intents", ["model.encoder={kind='multi-kernel'}", LAST]),
    "classify dense": ("intents", ["model.encoder={kind='dense'}", LAST]),
    "classify kalchbrenner": ("intents", ["model.encoder={kind='kalchbrenner', max_positions=64}", LAST]),
    "lm": ("grammar", []),
    "lm transformer": ("grammar", [f"model.decoder={TRANSFORMER_PART}"]),
    "transcribe sounds": ("tones", []),
    "transcribe pictures": ("ocr", [f"model.encoder={RNN_PART}"]),
    "transcribe ctc-attention": (
        "ocr",
        ["model.head={kind='ctc-attention'}", f"model.encoder={RNN_PART}", f"model.decoder={RNN_PART}"],
    ),
    "translate pictures": (
        "ocr",
        [
            "task=translate",
            "training.valid_metric=chrf",
            "model.head={kind='softmax'}",
            f"model.encoder={RNN_PART}",
            f"model.decoder={RNN_PART}",
        ],
    ),
}
EXPORTED_TASKS = ("tag crf", "classify", "lm", "transcribe sounds")  # one of each: an export takes long
BRIEF = [
    "training.updates=20",
    "training.validate_every=20",
    "training.checkpoint_every=10",
    "training.threads=1",
    "training.seed=7",
]
ANSWERED = 50
# What each setting of these is set to, one at a time.
BAD_VALUES = ("wrong", "-1", "1e12", "true", "[]", "{ kind = 'wrong' }")
PRESETS_SET_WRONG = ("transformer-tiny", "rnn-small", "conv-small")


NOUNS = {"cat": "Katze", "dog": "Hund", "house": "Haus", "garden": "Garten", "book": "Buch", "tree": "Baum"}
ADJECTIVES = {"small": "klein", "big": "groß", "red": "rot", "old": "alt", "new": "neu"}
VERBS = {"sees": "sieht", "finds": "findet", "buys": "kauft", "loves": "liebt"}


EXPORTED: dict[str, RuntimeName] = {
    "preset transformer-tiny": "ct2",
    "preset rnn-small": "onnx",
    "preset conv-small": "onnx",
}


def pairs(number: int, seed: int) -> Iterator[tuple[str, str]]:
    draw = random.Random(seed)
    for _ in range(number):
        one, two = draw.sample(sorted(NOUNS), 2)
        how, does = draw.choice(sorted(ADJECTIVES)), draw.choice(sorted(VERBS))
        many = draw.randrange(2, 1000)
        yield (
            f"The {how} {one} {does} {many} things at <b>the {two}</b>.",
            f"Die {NOUNS[one]} ist {ADJECTIVES[how]} und {VERBS[does]} {many} Dinge bei <b>{NOUNS[two]}</b>.",
        )


def narrow(value: Any) -> Any:
    match value:
        case bool():
            return value
        case int():
            return value // NARROWER if value >= WIDE else value
        case list():
            return [narrow(one) for one in value]
    return value


def narrowed(name: str) -> dict[str, Any]:
    """The preset and what makes it narrow."""
    changed: dict[str, Any] = {"model.preset": name}
    for side, part in PRESETS[name]().items():
        for key, value in part.items() if isinstance(part, dict) else ():
            if narrow(value) != value:
                changed[f"model.{side}.{key}"] = narrow(value)
    return changed


def digest(parts: Sequence[object]) -> str:
    hashed = hashlib.sha256()
    for part in parts:
        hashed.update(part if isinstance(part, bytes) else f"{part}\n".encode())
    return hashed.hexdigest()[:16]


def of_weights(model: Path) -> str:
    arrays = load_file(model / "weights.safetensors").values()
    return digest(sorted(f"{array.shape} {digest([array.tobytes()])}" for array in arrays))


def of_losses(out: Path) -> str:
    events = [json.loads(line) for line in (out / "events.jsonl").read_text(encoding="utf-8").splitlines()]
    steps = [exact([one["loss"], one["nll"], one["norm"]]) for one in events if one["event"] == "step"]
    return f"{len(steps)} updates {digest(steps)}"


def of_answers(answers: Sequence[Any]) -> Iterator[str]:
    """A hash of each field of all answers, so that a difference says where it is."""
    tables = [one._asdict() if hasattr(one, "_asdict") else vars(one) for one in answers]
    for name in tables[0]:
        yield f"{name} {digest([exact(table[name]) for table in tables])}"


def exact(value: Any) -> str:
    match value:
        case float() | np.floating():
            return float(value).hex()
        case dict():
            return exact(sorted(value.items()))
        case list() | tuple():
            return f"[{' '.join(map(exact, value))}]"
        case np.ndarray():
            return f"{value.shape} {exact(value.ravel().tolist())}"
    return str(value)


def lines(home: Path, only: str) -> Iterator[str]:
    for name, count, seed in (("train", 600, 1), ("valid", 40, 2)):
        text = "".join(f"{src}\t{tgt}\n" for src, tgt in pairs(count, seed))
        (home / f"{name}.tsv").write_text(text, encoding="utf-8")
    runs = {f"preset {name}": narrowed(name) for name in PRESETS} | RUNS
    sources = [src for src, _ in pairs(50, 3)]
    for name, settings in runs.items():
        if only not in name:
            continue
        out = home / name.replace(" ", "-")
        files = (home / "train.tsv",)
        dg.train(*files, valid=home / "valid.tsv", out=out, settings={**TRAINING, **settings}, progress=False)
        model = load(out)
        yield f"{name}: losses {of_losses(out)}"
        yield f"{name}: weights {of_weights(out / 'model')}"
        yield from named(f"{name}: greedy", of_answers(model(sources, {"kind": "greedy"})))
        yield from named(f"{name}: beam", of_answers(model(sources, SEARCHES["beam"], details=True)))
        if name in (
            "preset transformer-tiny",
            "preset rnn-small",
            "preset conv-small",
            "text byte",
            "text word",
        ):
            yield from decoded(name, model, sources)
        if name in ("preset transformer-tiny", "preset rnn-small", "preset conv-small"):
            yield from exported(name, out, sources)


def decoded(name: str, model: Model, sources: list[str]) -> Iterator[str]:
    for search, settings in list(SEARCHES.items())[1:]:
        yield from named(f"{name}: {search}", of_answers(model(sources, settings)))
    for steering, options in STEERED.items():
        yield from named(f"{name}: steered by {steering}", of_answers(model(sources, {"size": 4}, **options)))
    yield f"{name}: stream {digest([list(model.stream(source)) for source in sources[:5]])}"


def exported(name: str, out: Path, sources: list[str]) -> Iterator[str]:
    kind = EXPORTED[name]
    export(out, kind)
    model = load(out, runtime=kind)
    for search in ({"kind": "greedy"}, SEARCHES["beam"]):
        found = model(sources, search, details=True)
        yield from named(f"{name}: {kind} {search['kind']}", of_answers(found))
    for steering in ("keep", "prefix"):
        yield from named(f"{name}: {kind} {steering}", of_answers(model(sources, **STEERED[steering])))


def export(out: Path, kind: str) -> None:
    command("export", str(out), "--to", kind, "--json")


def command(*words: str) -> None:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        failed = command_line([*words])
    if failed:
        raise SystemExit(f"dragoman {' '.join(words)}: {said.getvalue()}")


def named(name: str, found: Iterator[str]) -> Iterator[str]:
    return (f"{name} {one}" for one in found)


def tasks(home: Path, only: str) -> Iterator[str]:
    """Every task, on its recipe, by PyTorch and through ONNX."""
    for task, (recipe, settings) in TASKS.items():
        name = f"task {task}"
        if only not in name:
            continue
        folder, out = home / recipe, home / name.replace(" ", "-")
        if not folder.exists():
            command("new", recipe, "-o", str(folder))
        command("train", str(folder), "-o", str(out), "--yes", *BRIEF, *settings)
        yield f"{name}: losses {of_losses(out)}"
        yield f"{name}: weights {of_weights(out / 'model')}"
        inputs = inputs_of(folder)
        yield from named(name, of_answers(dg.load(out)(inputs)))
        if task in EXPORTED_TASKS:
            export(out, "onnx")
            yield from named(f"{name}: onnx", of_answers(dg.load(out, runtime="onnx")(inputs)))


def inputs_of(recipe: Path) -> list[str]:
    (file,) = recipe.glob("test.*")
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".conll":
        sentences = [[line.split("\t")[0] for line in one.splitlines()] for one in text.split("\n\n")]
        return [" ".join(words) for words in sentences if words][:ANSWERED]
    firsts = [line.split("\t")[0] for line in text.splitlines()[:ANSWERED]]
    return [str(recipe / one) if (recipe / one).exists() else one for one in firsts]


def bad_settings(home: Path, only: str) -> Iterator[str]:
    """What is said when each setting has a value that it cannot have, or is misspelled."""
    base = {"data": {"train": [{"files": [str(home / "train.tsv")]}]}}
    for preset in PRESETS_SET_WRONG:
        name = f"settings {preset}"
        if only not in name:
            continue
        start = [f"model.preset={preset}"]
        config = load_settings(None, start, base)
        for path, _ in leaves(config.model_dump(mode="json")):
            key = ".".join(path)
            for wrong in (*(f"{key}={value}" for value in BAD_VALUES), f"{key[:-1]}=1"):
                yield f"{name}: {said_about([*start, wrong], base, home)}"


def said_about(overrides: list[str], base: dict[str, Any], home: Path) -> str:
    try:
        load_settings(None, overrides, base)
        said = "taken"
    except DragomanError as error:
        said = f"{type(error).__name__} {str(error).replace(str(home), 'HOME')!r}"
    return f"{overrides[-1]} {said}"


def record(only: str) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        found = []
        home = Path(folder)
        for line in chain(lines(home, only), tasks(home, only), bad_settings(home, only)):
            print(line, file=sys.stderr, flush=True)
            found.append(line)
        return found


def record_of(revision: str, only: str) -> list[str]:
    """What the script of another revision finds in its own tree."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "tree")
        git = ["git", "-C", str(HOME), "worktree"]
        subprocess.run([*git, "add", "--detach", "--quiet", str(tree), revision], check=True)
        try:
            script, file = tree / "benchmarks" / Path(__file__).name, Path(folder, "record.txt")
            environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
            command = [sys.executable, str(script), str(file), "--only", only]
            subprocess.run(command, env=environment, check=True)
            return file.read_text(encoding="utf-8").split("\n")[:-1]
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("record", type=Path)
    parser.add_argument("--only", default="", help="runs whose name holds this")
    parser.add_argument("--against", metavar="REVISION")
    args = parser.parse_args()
    found = record(args.only)
    args.record.write_text("".join(line + "\n" for line in found), encoding="utf-8")
    if not args.against:
        return 0
    different = list(
        difflib.unified_diff(record_of(args.against, args.only), found, args.against, "now", n=0, lineterm="")
    )
    print("\n".join(different) or f"{len(found)} lines are the same as of {args.against}.")
    return bool(different)


if __name__ == "__main__":
    raise SystemExit(main())
