"""Saliency beside attention: what an output depends on, and what it reads, need not be the same."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.inspection.data import AttentionLayer, Matrix, Saliency
from dragoman.inspection.pictures.labels import is_right_to_left, labelled
from dragoman.inspection.pictures.picture import Chart, Spec, signed, slant, strength, token_axis

ROOM, NARROW, WIDE = 420, 12, 22
COMPLETE = 0.01
BESIDE = 30  # maps of more tokens are drawn one below the other


def saliency_maps(found: Sequence[Saliency], attention: AttentionLayer | None) -> Chart:
    keys, queries = found[0].keys, found[0].queries
    maps: list[tuple[str, Matrix]] = [(titled(one), one.scores) for one in found]
    if attention is not None and len(attention.keys) == len(keys):
        maps.append(("attention, for comparison", attention.mean))
    longest = max(len(keys), len(queries))
    step = min(max(ROOM // longest, NARROW), WIDE)
    turn = -1 if is_right_to_left(keys) else 1
    tokens = {"keys": labelled(keys)[::turn], "queries": labelled(queries)}
    x = token_axis("key", "tokens.keys", **slant(keys, above=True))
    return Chart(
        "saliency",
        "Saliency beside attention",
        "Each row is an output token: blue source tokens make it more probable, orange ones less. Input × "
        "gradient is a local estimate; integrated gradients add up to the difference that unknown words "
        "would make; occlusion replaces one token by an unknown word. Attention says what was read, not what "
        "the output depends on: the maps differ, and no one of them is the truth.",
        {
            "params": [{"name": "tokens", "value": tokens}],
            "columns": 2 if longest <= BESIDE else 1,
            "concat": [one_map(title, scores, turn, x, step) for title, scores in maps],
            "resolve": {"scale": {"color": "independent"}},
        },
    )


def titled(one: Saliency) -> str:
    """Return the name of a method, and how far integrated gradients are from complete if by 1 % or more."""
    is_short = one.gap is not None and one.gap >= COMPLETE
    return f"{one.method}, sums off by {one.gap:.1%}" if is_short else one.method


def one_map(title: str, scores: Matrix, turn: int, x: Spec, step: int) -> Spec:
    """Return the map of one method; its colours reach as far as its largest score."""
    most = max((abs(score) for row in scores for score in row), default=0.0) or 1.0
    least = min((score for row in scores for score in row), default=0.0)
    values = [
        {"query": t, "key": s, "score": round(score, 4)}
        for t, row in enumerate(scores)
        for s, score in enumerate(row[::turn])
    ]
    return {
        "title": {"text": title, "fontSize": 12},
        "data": {"values": values},
        "transform": [
            {"calculate": "tokens.queries[datum.query]", "as": "output"},
            {"calculate": "tokens.keys[datum.key]", "as": "source"},
        ],
        "width": {"step": step},
        "height": {"step": step},
        "mark": {"type": "rect", "cornerRadius": 2},
        "encoding": {
            "x": x,
            "y": token_axis("query", "tokens.queries"),
            "color": {
                "field": "score",
                "type": "quantitative",
                "scale": signed(most) if least < 0 else strength(most),
                "legend": {"title": None, "gradientLength": 90, "tickCount": 3},
            },
            "tooltip": [{"field": name} for name in ("output", "source", "score")],
        },
    }
