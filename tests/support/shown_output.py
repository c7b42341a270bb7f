"""What a page shows of an output, against the output that was had.

`…` stands for anything: some lines, or a part of one. What else may differ is said by name. "numbers" are
those of another machine, with the spaces beside them; "lines" are what a model writes, of which only the
count is the same.
"""

from __future__ import annotations

import re

GAP = "…"
NUMBER = r"[-+−]?\d+(?:[.,:]\d+)*(?:e[-+]?\d+)?"
VARYING = {"": GAP, "numbers": f"{GAP}|{NUMBER}| +", "lines": rf"{GAP}|[^\n{GAP}]+"}
PATTERNS = {"numbers": NUMBER, "lines": r"[^\n]+"}


def agrees(shown: str, had: str, varies: str = "") -> bool:
    return _match(shown, had, varies) is not None


def refreshed(shown: str, had: str, varies: str = "") -> str:
    """What is shown, with what varies as it was had; all that was had if they disagree, or for a mere `…`."""
    found = _match(shown, had, varies)
    if found is None or shown.strip() == GAP:
        return had
    pieces = _pieces(shown, varies)
    pieces[1::2] = [
        piece if piece == GAP else now for piece, now in zip(pieces[1::2], found.groups(), strict=True)
    ]
    return "".join(pieces)


def _match(shown: str, had: str, varies: str) -> re.Match[str] | None:
    pattern = ""
    for index, piece in enumerate(_pieces(shown, varies)):
        if index % 2 == 0:
            pattern += re.escape(piece)
        elif piece == GAP:
            pattern += "(.*?)"
        else:
            pattern += "( +)" if piece.isspace() else f"({PATTERNS[varies]})"
    return re.fullmatch(pattern, had, re.S)


def _pieces(shown: str, varies: str) -> list[str]:
    """What has to be the same, what may vary, what has to be the same …"""
    return re.split(f"({VARYING[varies]})", shown)
