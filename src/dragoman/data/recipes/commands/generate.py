"""Commands → actions: every command of SCAN's grammar (Lake & Baroni 2018, arXiv 1711.00350) and its meaning.

C → S and S | S after S | S          ⟦x and y⟧ = ⟦x⟧ ⟦y⟧,  ⟦x after y⟧ = ⟦y⟧ ⟦x⟧
S → V | V twice | V thrice           ⟦x thrice⟧ = ⟦x⟧ ⟦x⟧ ⟦x⟧
V → U | W H | W opposite H | W around H
W → U | turn;  U → walk | look | run | jump;  H → left | right
"""

from __future__ import annotations

import random
from itertools import product

Meanings = dict[str, list[str]]  # command → actions

VERBS = {"walk": ["WALK"], "look": ["LOOK"], "run": ["RUN"], "jump": ["JUMP"]}
TIMES = {"": 1, " twice": 2, " thrice": 3}
SIZES = {"train": 16_428, "valid": 300, "test": 4_182}
SHARE = 10  # one training line in 10 of the jump split is "jump", as in SCAN


def phrases() -> Meanings:
    """V: an action, perhaps in a direction."""
    found = dict(VERBS)
    for (verb, act), side in product({**VERBS, "turn": []}.items(), ("left", "right")):
        turn = [f"TURN_{side.upper()}"]
        found[f"{verb} {side}"] = turn + act
        found[f"{verb} opposite {side}"] = turn + turn + act
        found[f"{verb} around {side}"] = (turn + act) * 4
    return found


def commands() -> Meanings:
    """C: all 20,910 commands."""
    once = {verb + again: act * n for (verb, act), (again, n) in product(phrases().items(), TIMES.items())}
    found = dict(once)
    for (x, first), (y, second) in product(once.items(), repeat=2):
        found[f"{x} and {y}"] = first + second
        found[f"{x} after {y}"] = second + first
    return found


def splits(seed: int = 1) -> dict[str, list[tuple[str, str]]]:
    """Return a random split, and the one in which `jump` is combined with nothing in training."""
    rng = random.Random(seed)
    pairs = [(command, " ".join(actions)) for command, actions in commands().items()]
    rng.shuffle(pairs)
    rest = iter(pairs)
    parts = {name: [next(rest) for _ in range(size)] for name, size in SIZES.items()}
    others = [pair for pair in pairs if "jump" not in pair[0]]
    alone = [("jump", "JUMP")] * (len(others) // (SHARE - 1))
    parts["jump-train"] = rng.sample(others + alone, len(others) + len(alone))
    parts["jump-test"] = [pair for pair in pairs if "jump" in pair[0] and pair[0] != "jump"]
    return parts
