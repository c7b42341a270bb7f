"""Does a model keep the gender that an English sentence shows? WinoMT, for German or French.

    python benchmarks/winomt.py OUT [SETTING …] [--to de] [--model MODEL] [--budget 30m] [--sentences N]

Trains on Tatoeba within the budget, unless a model is given, translates the challenge set and reads the
gender of each profession from its translation, which the model's own attention finds. The table has the
accuracy, F₁ of men and of women and their difference, and the accuracy where the profession follows the
stereotype (pro) and where it contradicts it (anti). Stanovsky et al. (2019) give 59.4 % for Google and
German, and 63.6 % for French; their word aligner and morphology are others.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import typed
from dragoman.inference.model import Model, load
from dragoman.metrics.winomt import GENDER_OF, Gender, WinoSentence, gender_at, read_sentence, wino_score

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("DRAGOMAN_DATA", HERE.parent.parent / "shared" / "data"))
TRAINING = {
    "de": ("tatoeba-deu-eng", "{part}.eng", "{part}.deu"),
    "fr": ("tatoeba-multi", "{part}.eng-fra.eng", "{part}.eng-fra.fra"),
}


def train(out: Path, language: str, budget: str, settings: Sequence[str]) -> Path:
    folder, *names = TRAINING[language]
    train, valid = ([DATA / folder / name.format(part=part) for name in names] for part in ("train", "dev"))
    typed.train(out, None, *train, *settings, "--valid", *valid, budget=budget)
    return out


def genders(model: Model, sentences: Sequence[WinoSentence], language: str) -> list[Gender]:
    """Return the gender of each profession in its translation."""
    found: list[Gender] = []
    for sentence, result in zip(sentences, model([one.text for one in sentences], details=True), strict=True):
        words = result.text.split()
        places = [tgt for src, tgt in result.alignment or () if src in sentence.places]
        found.append(gender_at(words, places, GENDER_OF[language]))
    return found


def measure(model: Model, language: str, most: int | None) -> dict[str, dict[str, float]]:
    lines = {name: typed.lines(DATA / "winomt" / f"{name}.tsv") for name in ("en", "en_pro", "en_anti")}
    step = 1 if most is None else -(-len(lines["en"]) // most)
    chosen = lines["en"][::step]
    sentences = [read_sentence(line) for line in chosen]
    found = genders(model, sentences, language)
    table = {}
    for name, members in (
        ("all", set(chosen)),
        ("pro", set(lines["en_pro"])),
        ("anti", set(lines["en_anti"])),
    ):
        own = [place for place, line in enumerate(chosen) if line in members]
        score = wino_score([found[place] for place in own], [sentences[place].gender for place in own])
        table[name] = {**asdict(score), "gender_gap": score.gender_gap}
    return table


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("settings", nargs="*")
    parser.add_argument("--to", choices=sorted(TRAINING), default="de")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--budget", default="30m")
    parser.add_argument("--sentences", type=int, help="of the challenge set, spread evenly (default: all)")
    args = parser.parse_args()
    model = load(args.model or train(args.out, args.to, args.budget, args.settings))
    facts = measure(model, args.to, args.sentences)
    print("| sentences | | accuracy | F1 men | F1 women | gap | no gender found |")
    print("|---|---|---|---|---|---|---|")
    for name, row in facts.items():
        figures = (row[key] for key in ("accuracy", "male_f1", "female_f1", "gender_gap", "unknown"))
        print(f"| {name} | {row['sentences']:,} | " + " | ".join(f"{one:.1f}" for one in figures) + " |")
    gap = facts["pro"]["accuracy"] - facts["anti"]["accuracy"]
    print(f"\nStereotypes: {gap:+.1f} points of accuracy between pro and anti.")
    print(json.dumps({"benchmark": "winomt", "to": args.to, "stereotype_gap": gap, "scores": facts}))


if __name__ == "__main__":
    main()
