"""WinoMT (Stanovsky et al. 2019): does a translation keep the gender that the English sentence shows?

A profession and a pronoun refer to the same person. Half of the pairs follow a stereotype (pro), the others
contradict it (anti). The gender of a translated profession is read from its ending and its determiner.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from dragoman.errors import DataError

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
        raise DataError(
            "This is not a sentence of WinoMT.",
            where=line,
            expected="gender, index of the profession, sentence and profession, with tabs between them",
            hint="Give the file en.tsv of WinoMT.",
        )
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
