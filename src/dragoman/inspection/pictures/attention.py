"""Attention maps with a picker of layer and head, and the entropy of each head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dragoman.inspection.data import AttentionLayer, Matrix
from dragoman.inspection.pictures.labels import is_right_to_left, labelled
from dragoman.inspection.pictures.picture import Chart, Spec, cells_with_text, slant, strength, token_axis

MEAN = "mean"
WHO = {
    "cross": "output to source",
    "encoder": "source to source",
    "decoder": "output to output so far",
    "pooling": "the whole sentence",
}
NARROW, WIDE, ROOM = 13, 26, 900  # pixels of a cell, and of all of them
DIGITS = 4
LEGEND = {"title": "weight", "values": [0, 0.1, 0.25, 0.5, 1], "format": ".2~f", "gradientLength": 120}
# Each map is one row of the data, a list of weights; only the one that is picked is unfolded into cells.
UNFOLDED = [
    {"filter": "datum.layer == layer && datum.head == head"},
    {"flatten": ["weight"]},
    {"window": [{"op": "row_number", "as": "cell"}]},
    {"calculate": "(datum.cell - 1) % datum.keys", "as": "key"},
    {"calculate": "floor((datum.cell - 1) / datum.keys)", "as": "query"},
    {"calculate": "tokens[layer].keys[datum.key]", "as": "to"},
    {"calculate": "tokens[layer].queries[datum.query]", "as": "from"},
]


def attention_map(layers: Sequence[AttentionLayer]) -> Chart:
    """Draw the mean of the heads of the layer that a decoder's alignment is read from, with all to pick."""
    first = shown_first(layers)
    return Chart(
        "attention",
        f"Attention, {name_of(first)}",
        "Each row is an output token and sums to 1: how much of each source token it reads. "
        "A layer with several heads is shown as their mean unless one is picked.",
        map_spec([first], first, heads=False),
        map_spec(layers, first, heads=True) | {"title": None},
    )


def shown_first(layers: Sequence[AttentionLayer]) -> AttentionLayer:
    """Return the last layer of attention to the source, or else the last of any."""
    return max(layers, key=lambda layer: (layer.kind == "cross", layer.kind == "pooling", layer.layer))


def name_of(layer: AttentionLayer) -> str:
    return f"{WHO[layer.kind]}, layer {layer.layer}"


def map_spec(layers: Sequence[AttentionLayer], first: AttentionLayer, *, heads: bool) -> Spec:
    """Return a map of `first`; with `heads`, of any layer and head that is picked in a page."""
    maps = [row for layer in layers for row in rows_of(layer, heads=heads)]
    longest = max(max(len(layer.queries), len(layer.keys)) for layer in layers)
    step = min(max(ROOM // longest, NARROW), WIDE)
    tokens = {name_of(layer): tokens_of(layer) for layer in layers}
    keys = [key for layer in tokens.values() for key in layer["keys"]]
    return {
        "data": {"values": maps},
        "params": [{"name": "tokens", "value": tokens}, *pickers(layers, first, heads=heads)],
        "transform": UNFOLDED,
        "width": {"step": step},
        "height": {"step": step},
        "mark": {"type": "rect", "cornerRadius": 2},
        "encoding": {
            "x": token_axis("key", "tokens[layer].keys", **slant(keys, above=True)),
            "y": token_axis("query", "tokens[layer].queries"),
            "color": {
                "field": "weight",
                "type": "quantitative",
                "scale": strength(1.0, type="sqrt"),
                "legend": LEGEND if heads else None,
            },
            "tooltip": [{"field": name} for name in ("from", "to", "weight")],
        },
    }


def pickers(layers: Sequence[AttentionLayer], first: AttentionLayer, *, heads: bool) -> list[Spec]:
    most = max(len(layer.heads) for layer in layers)
    options = {"layer": [name_of(layer) for layer in layers], "head": [MEAN, *map(str, range(1, most + 1))]}
    chosen = {"layer": name_of(first), "head": MEAN}
    if not heads:
        return [{"name": name, "value": value} for name, value in chosen.items()]
    return [
        {
            "name": name,
            "value": value,
            "bind": {"input": "select", "options": options[name], "name": f"{name} "},
        }
        for name, value in chosen.items()
    ]


def rows_of(layer: AttentionLayer, *, heads: bool) -> list[dict[str, Any]]:
    one_by_one = {str(n): head for n, head in enumerate(layer.heads, start=1)} if heads else {}
    return [
        {"layer": name_of(layer), "head": head, "keys": len(layer.keys), "weight": cells(layer, weights)}
        for head, weights in {MEAN: layer.mean, **one_by_one}.items()
    ]


def cells(layer: AttentionLayer, weights: Matrix) -> list[float]:
    """Return the weights row by row, from right to left if the keys are read so."""
    step = -1 if is_right_to_left(layer.keys) else 1
    return [round(weight, DIGITS) for row in weights for weight in row[::step]]


def tokens_of(layer: AttentionLayer) -> dict[str, list[str]]:
    step = -1 if is_right_to_left(layer.keys) else 1
    return {"keys": labelled(layer.keys)[::step], "queries": labelled(layer.queries)}


def head_entropies(layers: Sequence[AttentionLayer]) -> Chart:
    values = [
        {"layer": name_of(layer), "head": head, "entropy": round(entropy, DIGITS), "shown": f"{entropy:.2f}"}
        for layer in layers
        for head, entropy in enumerate(layer.entropies, start=1)
    ]
    place = {
        "x": {"field": "head", "type": "ordinal", "axis": {"labelAngle": 0}},
        "y": {"field": "layer", "type": "ordinal", "sort": None, "title": None, "axis": {"labelLimit": 260}},
    }
    return Chart(
        "heads",
        "Entropy of each attention head, in nats",
        "The mean over the rows of a map: 0 if a head reads one token at a time, log n if it reads all n "
        "alike.",
        {
            "data": {"values": values},
            "width": {"step": 42},
            "height": {"step": 26},
            "encoding": place,
            "layer": cells_with_text("entropy", "shown", max(max(layer.entropies) for layer in layers)),
        },
    )
