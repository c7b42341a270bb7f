"""Ten small tasks: does `dragoman score` say what validation said, and does the guard cut what is right?

    python -m benchmarks.quality.right_answers OUT [TASK …] [--updates 1000]

Trains a small Transformer on each task, from letters to words and from words to letters, with outputs shorter
than their sources, as long, or many times longer, and with references that repeat themselves. Then
compares the validation score of the chosen weights with that of `dragoman score` on the same pairs, and the
outputs for the test set with the guard and without it.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import corpora
from benchmarks.run_log import RunLog
from dragoman.data.recipes.dates.generate import splits
from dragoman.inference.model import load

DATA = corpora.DATA
DIGITS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
ALKANES = ["meth", "eth", "prop", "but", "pent", "hex", "hept", "oct", "non", "dec"]
ENDS = {"ane": "", "ol": " O", "yl chloride": " Cl", "amine": " N"}
TRAIN, VALID, TEST = 4000, 200, 300


class Task(NamedTuple):
    pair: Callable[[random.Random], tuple[str, str]]
    settings: tuple[str, ...]


CHAR, WORD = ("text.kind=char",), ("text.kind=word", "text.size=400")


def number(rng: random.Random, most: int = 7) -> str:
    return "".join(rng.choices("0123456789", k=rng.randint(1, most)))


def word(rng: random.Random, most: int = 10) -> str:
    return "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(1, most)))


def digits_to_words(rng: random.Random) -> tuple[str, str]:
    digits = number(rng)
    return digits, " ".join(DIGITS[int(digit)] for digit in digits)


def words_to_digits(rng: random.Random) -> tuple[str, str]:
    digits, words = digits_to_words(rng)
    return words, digits


def chemistry(rng: random.Random) -> tuple[str, str]:
    """One chain after another: "but ane + prop ol" is C C C C + C C C O."""
    parts = [(rng.randrange(6), rng.choice(list(ENDS))) for _ in range(rng.randint(1, 3))]
    names = " + ".join(f"{ALKANES[n]} {end}" for n, end in parts)
    return names, " + ".join(" ".join("C" * (n + 1)) + ENDS[end] for n, end in parts)


def back_from_chemistry(rng: random.Random) -> tuple[str, str]:
    names, formula = chemistry(rng)
    return formula, names


def bits(rng: random.Random) -> tuple[str, str]:
    letters = word(rng, 5)
    return letters, "".join(f"{ord(letter) - ord('a'):05b}" for letter in letters)


def unary(rng: random.Random) -> tuple[str, str]:
    """A number as so many strokes: the longest repetition there is."""
    n = rng.randint(1, 24)
    return f"{n} {word(rng, 4)}", "|" * n


def doubled(rng: random.Random) -> tuple[str, str]:
    letters = word(rng)
    return letters, "".join(letter * 3 for letter in letters)


def of_recipe() -> Callable[[random.Random], tuple[str, str]]:
    dates = splits()["train"]
    return lambda rng: rng.choice(dates)


def of_file(*parts: str) -> Callable[[random.Random], tuple[str, str]]:
    columns = [(DATA / part).read_text(encoding="utf-8").split("\n") for part in parts]
    rows = list(zip(*columns, strict=True)) if len(columns) > 1 else [line.split("\t") for line in columns[0]]
    usable = [(row[0], row[1]) for row in rows if len(row) > 1 and row[0] and row[1]]
    return lambda rng: rng.choice(usable)


def tasks() -> dict[str, Callable[[], Task]]:
    phonemes = ("text.src.kind=char", "text.tgt.kind=word", "text.tgt.size=64", "model.tied=target")
    return {
        "digits to words, letters": lambda: Task(digits_to_words, CHAR),
        "words to digits, letters": lambda: Task(words_to_digits, CHAR),
        "names to formulas, words": lambda: Task(chemistry, WORD),
        "formulas to names, words": lambda: Task(back_from_chemistry, WORD),
        "letters to bits": lambda: Task(bits, CHAR),
        "numbers to strokes, letters": lambda: Task(unary, CHAR),
        "every letter three times": lambda: Task(doubled, CHAR),
        "dates": lambda: Task(of_recipe(), CHAR),
        "letters to phonemes (CMUdict)": lambda: Task(of_file("cmudict/train.tsv"), phonemes),
        "translation (Tatoeba)": lambda: Task(
            of_file("tatoeba-deu-eng/train.eng", "tatoeba-deu-eng/train.deu"),
            ("text.kind=bpe", "text.size=1500"),
        ),
    }


def write(task: Task, folder: Path) -> None:
    rng, seen = random.Random(5), set()
    for part, count in (("train", TRAIN), ("valid", VALID), ("test", TEST)):
        pairs = []
        for _ in range(50 * count):
            source, target = task.pair(rng)
            if source not in seen:
                seen.add(source)
                pairs.append(f"{source}\t{target}\n")
            if len(pairs) == count:
                break
        (folder / f"{part}.tsv").write_text("".join(pairs), encoding="utf-8")


def dragoman(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "dragoman", *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout


def measure(name: str, task: Task, folder: Path, updates: int) -> dict[str, Any]:
    folder.mkdir(parents=True, exist_ok=True)
    run = folder / "run"
    if not (run / "model").exists():
        write(task, folder)
        small = ["model.preset=transformer-tiny", "training.threads=1", "training.batch_tokens=1024"]
        plan = [
            f"training.updates={updates}",
            f"training.validate_every={updates // 3}",
            "training.lr=3e-3",
            "training.warmup=60",
            *small,
            *task.settings,
        ]
        files = [str(folder / "train.tsv"), "--valid", str(folder / "valid.tsv")]
        dragoman("train", *files, "-o", str(run), "--yes", *plan)
    (finished,) = RunLog(run).events("finished")
    scored = json.loads(dragoman("score", str(run), str(folder / "valid.tsv"), "--json"))
    rows = [line.split("\t") for line in (folder / "test.tsv").read_text("utf-8").splitlines()]
    model = load(run)
    guarded, free = (model([src for src, _ in rows], {"guard": guard}) for guard in (True, False))
    triples = list(zip(rows, guarded, free, strict=True))
    return {
        "task": name,
        "validation": finished["valid"]["exact_match"],
        "score": scored["exact_match"],
        "bleu": [finished["valid"]["bleu"], scored["bleu"]],
        "right": 100 * sum(result.text == tgt for (_, tgt), result, _ in triples) / len(rows),
        "right, then cut": sum(f.text == tgt != g.text for (_, tgt), g, f in triples),
        "cut": sum(g.text != f.text for _, g, f in triples),
        "cut without a flag": sum(
            g.text != f.text and not {"truncated", "repetition"} & set(g.flags) for _, g, f in triples
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument(
        "names", nargs="*", metavar="TASK", help="words of the names of tasks; all by default"
    )
    parser.add_argument("--updates", type=int, default=1000)
    args = parser.parse_args()
    every = {
        name: make for name, make in tasks().items() if not args.names or any(n in name for n in args.names)
    }
    found = []
    print("| task | exact, validation | exact, score | exact, test | right, then cut | cut | cut, no flag |")
    print("|---|---|---|---|---|---|---|")
    for number_, (name, make) in enumerate(every.items()):
        row = measure(
            name, make(), args.out / f"{number_}-{name.split(',')[0].replace(' ', '-')}", args.updates
        )
        found.append(row)
        shares = " | ".join(f"{row[key]:.1f} %" for key in ("validation", "score", "right"))
        print(
            f"| {name} | {shares} | {row['right, then cut']} | {row['cut']} | {row['cut without a flag']} |",
            flush=True,
        )
    print(json.dumps({"benchmark": "right_answers", "updates": args.updates, "tasks": found}))


if __name__ == "__main__":
    main()
