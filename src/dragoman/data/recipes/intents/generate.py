"""Questions to a shop, made from templates: each has one of eight intents."""

from __future__ import annotations

import random

SIZES = {"train": 3_000, "valid": 300, "test": 500}
THINGS = [
    "shoes",
    "jacket",
    "lamp",
    "phone",
    "kettle",
    "book",
    "chair",
    "bicycle",
    "camera",
    "tent",
    "radio",
    "clock",
]
OPENINGS = ("", "hello , ", "hi there , ", "excuse me , ", "good morning , ", "please tell me , ")
CLOSINGS = ("", " please", " thanks", " ?", " thank you very much")
INTENTS = {
    "where_is_my_order": ("where is my {thing}", "my {thing} has not arrived", "when will the {thing} come"),
    "return": ("i want to send back the {thing}", "can i return my {thing}", "the {thing} is not for me"),
    "broken": ("the {thing} does not work", "my {thing} arrived broken", "a part of the {thing} is cracked"),
    "price": ("how much is the {thing}", "what does a {thing} cost", "is the {thing} on sale"),
    "in_stock": ("do you have a {thing}", "is the {thing} in stock", "can i buy the {thing} today"),
    "cancel": ("do not send the {thing}", "cancel the {thing} i ordered", "i no longer need the {thing}"),
    "refund": ("when do i get my money for the {thing}", "you owe me money for a {thing}"),
    "warranty": ("how long is the {thing} guaranteed", "is there a warranty on the {thing}"),
}


def question(rng: random.Random) -> tuple[str, str]:
    intent = rng.choice(list(INTENTS))
    text = rng.choice(INTENTS[intent]).replace("{thing}", rng.choice(THINGS))
    said = f"{rng.choice(OPENINGS)}{text}{rng.choice(CLOSINGS)}".split(" ")
    if rng.random() < 0.5:  # a letter is lost or doubled
        at = rng.randrange(len(said))
        letter = rng.randrange(len(said[at]))
        said[at] = said[at][:letter] + said[at][letter] * rng.choice((0, 2)) + said[at][letter + 1 :]
    return " ".join(word for word in said if word), intent


def splits(seed: int = 1) -> dict[str, list[tuple[str, str]]]:
    """Return the splits. No question is repeated, not even with other punctuation."""
    rng = random.Random(seed)
    found: dict[str, tuple[str, str]] = {}
    while len(found) < sum(SIZES.values()):
        text, intent = question(rng)
        found.setdefault("".join(filter(str.isalpha, text)), (text, intent))
    fresh = iter(found.values())
    return {part: [next(fresh) for _ in range(size)] for part, size in SIZES.items()}
