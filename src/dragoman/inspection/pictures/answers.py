"""Pictures of answers that are no translations: marginals of tags, and the alignment of CTC."""

from __future__ import annotations

from dragoman.inspection.data import CTCAlignment, TagMarginals
from dragoman.inspection.pictures.frames import WIDE, frame_axis, source_panel
from dragoman.inspection.pictures.labels import label, labelled
from dragoman.inspection.pictures.picture import Chart, Spec, cells_with_text, slant, token_axis
from dragoman.inspection.pictures.theme import HEADING

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
    """Draw the source, and the probability of each label over the frames with its letter on its peak."""
    frames = len(found.posteriors)
    x = frame_axis(frames)
    panels = [source_panel(found.source, frames, x)] if found.source else []
    return Chart(
        "ctc",
        "Where each letter was read (CTC)",
        "Above, the source. Below, the probability of each label at every frame: mostly the blank, which is "
        "grey, and a peak where a letter is emitted. A tinted strip holds the frames of its letter.",
        {
            "vconcat": [*panels, posterior_panel(found, x)],
            "spacing": 6,
            "resolve": {"scale": {"color": "independent"}},
        },
    )


def posterior_panel(found: CTCAlignment, x: Spec) -> Spec:
    """Return a line for each label, with the token on its peak; that of the blank is grey."""
    blank = len(found.labels) - 1
    values = [
        {"frame": frame + 0.5, "number": n, "p": round(p, 4)}
        for frame, row in enumerate(found.posteriors)
        for n, p in enumerate(row)
    ]
    tokens = [
        {
            "start": token.start,
            "end": token.end,
            "frame": peak + 0.5,
            "p": found.posteriors[peak][found.labels.index(token.token)],
            "token": label(token.token),
            "confidence": round(token.confidence, 4),
        }
        for token, peak in zip(found.tokens, peaks(found), strict=True)
    ]
    ends = [{"frame": len(found.posteriors), "p": found.posteriors[-1][blank], "name": BLANK}]
    axis = {"values": [0, 0.5, 1]}
    y = {
        "field": "p",
        "type": "quantitative",
        "title": "probability",
        "scale": {"domain": [0, 1.2]},
        "axis": axis,
    }
    at = {"x": {**x, "field": "frame", "title": "frame"}, "y": y}
    lines = {**at, "detail": {"field": "number"}}
    strip = {"x": {**x, "field": "start", "title": "frame"}, "x2": {"field": "end"}}
    shown = [{"field": name} for name in ("token", "start", "end", "confidence")]
    beside = {"align": "left", "dx": 6, "style": "faint"}
    letter = {"type": "text", "baseline": "bottom", "dy": -4, "fontSize": HEADING, "fontWeight": "bold"}
    return {
        "data": {"values": values},
        "width": WIDE,
        "height": 150,
        "layer": [
            {
                "data": {"values": tokens},
                "mark": {"type": "rect", "opacity": 0.15},
                "encoding": {**strip, "tooltip": shown},
            },
            {
                "transform": [{"filter": f"datum.number == {blank}"}],
                "mark": {"type": "line", "style": "faint"},
                "encoding": lines,
            },
            {
                "transform": [{"filter": f"datum.number != {blank}"}],
                "mark": {"type": "line"},
                "encoding": lines,
            },
            {"data": {"values": tokens}, "mark": letter, "encoding": {**at, "text": {"field": "token"}}},
            {
                "data": {"values": ends},
                "mark": {"type": "text", **beside},
                "encoding": {**at, "text": {"field": "name"}},
            },
        ],
    }


def peaks(found: CTCAlignment) -> list[int]:
    """Return the frame at which each token is most likely, of those it was read in."""
    numbers = [found.labels.index(token.token) for token in found.tokens]
    return [
        max(range(token.start, token.end), key=lambda frame: found.posteriors[frame][number])
        for token, number in zip(found.tokens, numbers, strict=True)
    ]
