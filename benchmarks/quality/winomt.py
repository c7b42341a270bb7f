"""Does a model keep the gender that an English sentence shows? WinoMT, for German or French.

    python -m benchmarks.quality.winomt OUT [SETTING …] [--to de] [--model MODEL] [--budget 30m]
        [--sentences N]

Trains on Tatoeba within the budget, unless a model is given, translates the challenge set and reads the
gender of each profession from its translation, which the model's own attention finds. The table has the
accuracy, F₁ of men and of women and their difference, and the accuracy where the profession follows the
stereotype (pro) and where it contradicts it (anti). The gender of a translated profession is read from its
ending and its determiner, by a few rules that err where a determiner is ambiguous. Stanovsky et al. (2019)
give 59.4 % for Google and German, and 63.6 % for French; their word aligner and morphology are others.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

from benchmarks import corpora, typed
from dragoman.inference.model import Model, load

DATA = corpora.DATA
TRAINING = {
    "de": ("tatoeba-deu-eng", "{part}.eng", "{part}.deu"),
    "fr": ("tatoeba-multi", "{part}.eng-fra.eng", "{part}.eng-fra.fra"),
}
Gender = Literal["male", "female", "neutral", "unknown"]
GenderOf = Callable[[Sequence[str], int], Gender]  # of the noun at this index of a sentence

BEFORE = 3  # words before a noun in which its determiner is looked for
GERMAN_MALE = {"der", "den", "dem", "des", "einen", "einem", "eines", "ein", "jeder", "dieser", "vom", "zum"}
GERMAN_FEMALE = {"die", "eine", "einer", "diese", "zur", "jede"}
GERMAN_WOMAN = ("in", "frau", "schwester", "kraft", "hilfe", "dame", "amme")
GERMAN_MAN = ("mann", "bruder", "herr")
FRENCH_MALE = {"le", "un", "du", "au", "ce", "cet"}
FRENCH_FEMALE = {"la", "une", "cette"}
FRENCH_WOMAN = ("euse", "trice", "ière", "enne", "esse", "ante", "ée", "femme")
FRENCH_MAN = ("eur", "ier", "ien", "ant", "homme")


@dataclass(frozen=True)
class WinoSentence:
    """`index` is that of the profession's first word in the text."""

    gender: Gender
    index: int
    text: str
    profession: str

    @property
    def places(self) -> range:
        """The indices of the profession's words."""
        return range(self.index, self.index + len(self.profession.split()))


@dataclass(frozen=True)
class WinoScore:
    """In percent. `gender_gap` is F₁ of men − F₁ of women; `unknown` are outputs without a gender."""

    sentences: int
    accuracy: float
    male_f1: float
    female_f1: float
    unknown: float

    @property
    def gender_gap(self) -> float:
        return self.male_f1 - self.female_f1


def read_sentence(line: str) -> WinoSentence:
    """Read a line of the challenge set: gender, index of the profession, sentence, profession."""
    columns = line.split("\t")
    gender: Gender | None = next((one for one in get_args(Gender) if one == columns[0]), None)
    if len(columns) != 4 or gender is None or not re.fullmatch(r"[0-9]+", columns[1]):
        raise ValueError(f"Not a sentence of WinoMT: {line}")
    return WinoSentence(gender, int(columns[1]), columns[2], columns[3])


def wino_score(found: Sequence[Gender], wanted: Sequence[Gender]) -> WinoScore:
    pairs = list(zip(found, wanted, strict=True))

    def f1(gender: Gender) -> float:
        right = sum(a == b == gender for a, b in pairs)
        return 200 * right / max(sum((a == gender) + (b == gender) for a, b in pairs), 1)

    share = 100 / max(len(pairs), 1)
    right, unknown = sum(a == b for a, b in pairs), sum(a == "unknown" for a, _ in pairs)
    return WinoScore(len(pairs), share * right, f1("male"), f1("female"), share * unknown)


def gender_at(words: Sequence[str], places: Sequence[int], gender_of: GenderOf) -> Gender:
    """Return the gender of a profession that is translated by the words at `places`; the first that is known.

    Nouns have more letters than determiners, so the longest word is asked first.
    """
    longest = sorted(places, key=lambda place: -len(words[place]))
    return next((gender for place in longest if (gender := gender_of(words, place)) != "unknown"), "unknown")


def german_gender(words: Sequence[str], place: int) -> Gender:
    """Return the gender by the noun's ending, or else by its determiner.

    A dative such as "mit der Ärztin" has its ending; "der" before other nouns is masculine.
    """
    return by_ending(words[place], GERMAN_WOMAN, GERMAN_MAN) or by_determiner(
        words, place, GERMAN_MALE, GERMAN_FEMALE, {"das"}
    )


def french_gender(words: Sequence[str], place: int) -> Gender:
    """Return the gender by the determiner, or else, as after "l'", by the noun's ending."""
    found = by_determiner(words, place, FRENCH_MALE, FRENCH_FEMALE, set())
    return found if found != "unknown" else by_ending(words[place], FRENCH_WOMAN, FRENCH_MAN) or "unknown"


def by_ending(word: str, woman: tuple[str, ...], man: tuple[str, ...]) -> Gender | None:
    letters = bare(word)
    return "female" if letters.endswith(woman) else "male" if letters.endswith(man) else None


def by_determiner(
    words: Sequence[str], place: int, male: set[str], female: set[str], neutral: set[str]
) -> Gender:
    """Return the gender of the nearest determiner before a noun."""
    genders: dict[Gender, set[str]] = {"male": male, "female": female, "neutral": neutral}
    for word in reversed(words[max(0, place - BEFORE) : place]):
        for gender, forms in genders.items():
            if bare(word) in forms:
                return gender
    return "unknown"


def bare(word: str) -> str:
    return word.lower().strip(".,;:!?\"'»«„“”()")


GENDER_OF: dict[str, GenderOf] = {"de": german_gender, "fr": french_gender}


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
