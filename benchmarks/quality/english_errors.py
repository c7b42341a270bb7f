"""Errors that learners of English make, put into right sentences by rules: what a corrector is trained on.

Sentences are words separated by spaces, tokenised as in the Penn Treebank: `It is n't here .`
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from dragoman.data.recipes.spelling.generate import misspell

ARTICLES = ("a", "an", "the")
PREPOSITIONS = ("in", "on", "at", "of", "for", "to", "from", "with", "by", "about", "into")
VERB_FORMS = (
    ("is", "are"), ("was", "were"), ("has", "have"), ("does", "do"), ("am", "is"), ("goes", "go"),
    ("went", "go"), ("been", "be"), ("could", "can"), ("would", "will"), ("took", "take"), ("came", "come"),
    ("saw", "see"),
)  # fmt: skip
CONFUSED = (
    ("their", "there"), ("then", "than"), ("its", "it 's"), ("too", "to"), ("your", "you 're"),
    ("loose", "lose"), ("people", "peoples"), ("much", "many"), ("less", "fewer"), ("who", "which"),
    ("because", "becouse"), ("good", "well"), ("say", "tell"), ("make", "do"), ("other", "another"),
    ("children", "childrens"),
)  # fmt: skip
SWAPS = {a: b for one, other in (*VERB_FORMS, *CONFUSED) for a, b in ((one, other), (other, one))}
MOST, RIGHT = 5, 0.15  # errors in a sentence; share of sentences that stay right

Rule = Callable[[list[str], int, random.Random], list[str]]  # what is written instead of the word there


def spelling(words: list[str], place: int, rng: random.Random) -> list[str]:
    word = words[place]
    return [misspell(word, rng) if word.isalpha() and len(word) > 3 else word]


def article(words: list[str], place: int, rng: random.Random) -> list[str]:
    word = words[place]
    if word.lower() in ARTICLES:
        return rng.choice([[], [], [rng.choice(ARTICLES)]])
    if place and words[place - 1].lower() in (*PREPOSITIONS, "is", "was", "have") and word.isalpha():
        return [rng.choice(ARTICLES), word]
    return [word]


def preposition(words: list[str], place: int, rng: random.Random) -> list[str]:
    if words[place] not in PREPOSITIONS:
        return [words[place]]
    return rng.choice([[], [rng.choice(PREPOSITIONS)], [rng.choice(PREPOSITIONS)]])


def form(words: list[str], place: int, rng: random.Random) -> list[str]:
    """Agreement and tense: another form of the verb, or another number of the noun."""
    word = words[place]
    if word in SWAPS:
        return SWAPS[word].split()
    if not word.islower() or len(word) < 4:
        return [word]
    for ending in ("ing", "ed", "ly", "s"):
        if word.endswith(ending) and not word.endswith("ss"):
            return [word.removesuffix(ending)]
    return [word + rng.choice(("s", "s", "ed", "ing"))]


def order(words: list[str], place: int, rng: random.Random) -> list[str]:
    """The word changes places with the one before it."""
    if not place or not words[place].isalpha() or not words[place - 1].isalpha():
        return [words[place]]
    before, words[place - 1] = words[place - 1], words[place]
    return [before]


def punctuation(words: list[str], place: int, rng: random.Random) -> list[str]:
    word = words[place]
    if word in (",", ".", "'s"):
        return []
    return [word.lower()] if word[0].isupper() else [word]


RULES: tuple[Rule, ...] = (spelling, spelling, article, article, preposition, form, form, order, punctuation)


def corrupt(sentence: str, rng: random.Random) -> str:
    """A sentence with none to five errors, more in a longer one."""
    words = sentence.split()
    if not words or rng.random() < RIGHT:
        return sentence
    wanted = min(MOST, 1 + round(rng.expovariate(8 / len(words))))
    for _ in range(20 * wanted):
        place, rule = rng.randrange(len(words)), rng.choice(RULES)
        before = list(words)
        written = rule(words, place, rng)
        words = words[:place] + written + words[place + 1 :]
        wanted -= words != before
        if not wanted or not words:
            break
    return " ".join(words) or sentence


CLITICS = re.compile(r"(?<=\w)(n't|'(?:s|re|ve|ll|d|m))\b", re.IGNORECASE)
MARKS = re.compile(r"""([,.;:!?"()])(?=\s|$|["().,!?])|(?:(?<=\s)|^)(["(])""")


def tokenised(text: str) -> str:
    """Words and marks separated by spaces, near enough to the Penn Treebank."""
    return " ".join(MARKS.sub(r" \1\2 ", CLITICS.sub(r" \1", text)).split())
