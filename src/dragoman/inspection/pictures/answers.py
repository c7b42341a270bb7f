"""Pictures of answers that are no translations: marginals of tags, and the alignment of CTC."""

from __future__ import annotations

from dragoman.inspection.data import CTCAlignment, TagMarginals
from dragoman.inspection.pictures.frames import WIDE, frame_axis, source_panel
from dragoman.inspection.pictures.labels import label, labelled
from dragoman.inspection.pictures.picture import Chart, Spec, cells_with_text, slant, strength, token_axis

LIKELY = 0.01  # tags that no word has with this probability are left out
BLANK = "blank"


def tag_marginals(found: TagMarginals) -> Chart:
    kept = [
        n for n, tag in enumerate(found.tags) if tag in found.chosen or max(r[n] for r in found.p) > LIKELY
    ]
    words, tags = labelled(found.words), labelled([found.tags[n] for n in kept])
    values = [
        {"word": w, "tag": t, "p": round(row[n], 4), "shown": f"{row[n]:.2f}" if row[n] >= LIKELY else ""}
        for w, row in enumerate(found.p)
        for t, n in enumerate(kept)
    ]
    chosen = [
        {"word": w, "tag": t}
        for w, tag in enumerate(found.chosen)
        for t, n in enumerate(kept)
        if found.tags[n] == tag
    ]
    place = {
        "x": token_axis("tag", "tags", **slant(tags, above=True)),
        "y": token_axis("word", "words"),
    }
    frame = {"type": "rect", "filled": False, "strokeWidth": 2, "style": "chosen"}
    return Chart(
        "tags",
        "Probability of each tag",
        "Each row is a word and sums to 1. A frame marks the tag that was chosen: of a conditional random "
        "field it belongs to the best sequence, which need not have the most likely tag of every word.",
        {
            "params": [{"name": "tags", "value": tags}, {"name": "words", "value": words}],
            "width": {"step": 46},
            "height": {"step": 24},
            "layer": [
                *({"data": {"values": values}, "encoding": place, **layer} for layer in with_place(place)),
                {"data": {"values": chosen}, "mark": frame, "encoding": place},
            ],
        },
    )


def with_place(place: Spec) -> list[Spec]:
    return [
        {**layer, "encoding": {**place, **layer["encoding"]}} for layer in cells_with_text("p", "shown", 1.0)
    ]


def ctc_alignment(found: CTCAlignment) -> Chart:
    """Draw the source, where each token was read, and the probability of each label over the frames."""
    frames = len(found.posteriors)
    x = frame_axis(frames)
    panels = [source_panel(found.source, frames, x)] if found.source else []
    panels += [token_panel(found, x), posterior_panel(found, x)]
    return Chart(
        "ctc",
        "Alignment by CTC",
        "Above, the source and the frames in which each token was read, by the best path. Below, the "
        "probability of each label at every frame: mostly the blank, and a peak where a token is emitted.",
        {"vconcat": panels, "spacing": 6, "resolve": {"scale": {"color": "independent"}}},
    )


def token_panel(found: CTCAlignment, x: Spec) -> Spec:
    values = [
        {
            "start": token.start,
            "end": token.end,
            "middle": (token.start + token.end) / 2,
            "token": label(token.token),
            "confidence": round(token.confidence, 4),
        }
        for token in found.tokens
    ]
    return {
        "data": {"values": values},
        "width": WIDE,
        "height": 34,
        "layer": [
            {
                "mark": {"type": "rect", "opacity": 0.35},
                "encoding": {
                    "x": {**x, "field": "start", "axis": None},
                    "x2": {"field": "end"},
                    "color": {
                        "field": "confidence",
                        "type": "quantitative",
                        "scale": strength(1.0),
                        "legend": None,
                    },
                    "tooltip": [{"field": name} for name in ("token", "start", "end", "confidence")],
                },
            },
            {
                "mark": {"type": "text", "fontSize": 15},
                "encoding": {"x": {**x, "field": "middle", "axis": None}, "text": {"field": "token"}},
            },
        ],
    }


def posterior_panel(found: CTCAlignment, x: Spec) -> Spec:
    """Return a line for each label; that of the blank is grey."""
    names = [*labelled(found.labels[:-1]), BLANK]
    values = [
        {"frame": frame + 0.5, "label": name, "number": n, "p": round(p, 4)}
        for frame, row in enumerate(found.posteriors)
        for n, (name, p) in enumerate(zip(names, row, strict=True))
    ]
    y = {"field": "p", "type": "quantitative", "title": "probability", "scale": {"domain": [0, 1]}}
    lines = {"x": {**x, "field": "frame", "title": "frame"}, "y": y, "detail": {"field": "number"}}
    is_blank = f"datum.number == {len(names) - 1}"
    return {
        "data": {"values": values},
        "width": WIDE,
        "height": 130,
        "layer": [
            {
                "transform": [{"filter": is_blank}],
                "mark": {"type": "line", "style": "faint"},
                "encoding": lines,
            },
            {
                "transform": [{"filter": f"!({is_blank})"}],
                "mark": {"type": "line"},
                "encoding": {**lines, "tooltip": [{"field": name} for name in ("label", "frame", "p")]},
            },
        ],
    }
