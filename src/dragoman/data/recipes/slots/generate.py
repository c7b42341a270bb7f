"""Requests to an assistant, made from templates: the words, and the slot that each belongs to."""

from __future__ import annotations

import random

SIZES = {"train": 4_000, "valid": 300, "test": 500}
SYLLABLES = [consonant + vowel for consonant in "bdklmnrstv" for vowel in "aeio"]
DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "today", "tomorrow"]
TIMES = [f"{hour} {half}" for hour in range(1, 13) for half in ("am", "pm")]
TEMPLATES = (
    "book a table at {restaurant} in {city} on {day} at {time}",
    "i want to eat at {restaurant} {day}",
    "find me a flight from {from} to {to} on {day}",
    "fly from {from} to {to} {day} at {time}",
    "play {song} by {artist}",
    "put on something by {artist} please",
    "add {song} to my list",
    "what is the weather in {city} {day}",
    "will it rain in {city} at {time}",
    "wake me up at {time} on {day}",
)


def name(rng: random.Random, words: int) -> str:
    """Return a name that was hardly ever seen before: what it is must be read from the words around it."""
    return " ".join("".join(rng.choices(SYLLABLES, k=rng.randint(2, 3))) for _ in range(words))


def value(slot: str, rng: random.Random) -> str:
    match slot:
        case "day":
            return rng.choice(DAYS)
        case "time":
            return rng.choice(TIMES)
        case "song" | "restaurant":
            return name(rng, rng.randint(1, 3))
        case _:
            return name(rng, rng.randint(1, 2))


def request(rng: random.Random) -> tuple[str, str]:
    """Return the words of a request and their tags, in IOB2."""
    words: list[str] = []
    tags: list[str] = []
    for part in rng.choice(TEMPLATES).split(" "):
        slot = part[1:-1] if part.startswith("{") else ""
        filled = value(slot, rng).split(" ") if slot else [part]
        words += filled
        tags += [f"B-{slot}", *[f"I-{slot}"] * (len(filled) - 1)] if slot else ["O"]
    return " ".join(words), " ".join(tags)


def splits(seed: int = 1) -> dict[str, list[tuple[str, str]]]:
    """Return the splits. No request is repeated."""
    rng = random.Random(seed)
    found: dict[str, str] = {}
    while len(found) < sum(SIZES.values()):
        found.update([request(rng)])
    fresh = iter(found.items())
    return {part: [next(fresh) for _ in range(size)] for part, size in SIZES.items()}
