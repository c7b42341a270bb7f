"""What a model did with one text, as plain data that shows itself: in a terminal, a notebook, or a file."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from dragoman.errors import MissingExtra, UsageError
from dragoman.inspection.data import (
    AttentionLayer,
    BeamTree,
    CellTrace,
    CTCAlignment,
    GradientFlow,
    Matrix,
    OutputStep,
    Saliency,
    TagMarginals,
)
from dragoman.inspection.pictures.answers import ctc_alignment, tag_marginals
from dragoman.inspection.pictures.attention import attention_map, head_entropies, shown_first
from dragoman.inspection.pictures.beam_tree import beam_tree_drawing
from dragoman.inspection.pictures.cells import gate_traces, state_traces
from dragoman.inspection.pictures.files import data_format, picture_formats, write_as
from dragoman.inspection.pictures.frames import frame_attention
from dragoman.inspection.pictures.gradients import gradient_chart
from dragoman.inspection.pictures.labels import label
from dragoman.inspection.pictures.page import page
from dragoman.inspection.pictures.picture import Picture
from dragoman.inspection.pictures.ribbons import ribbons
from dragoman.inspection.pictures.saliency import saliency_maps
from dragoman.inspection.pictures.steps import step_table
from dragoman.inspection.pictures.text import table
from dragoman.inspection.pictures.theme import LIGHT, theme_of
from dragoman.inspection.pictures.together import together

# What a file shows if no picture is named, at most two, and the sentence below each.
SIGNATURE = {
    "frames": "Each row is a step of the output: the stronger the colour, the more it reads of that part.",
    "attention": "Map: each row is a step of the output. The stronger the colour, the more it reads there.",
    "beam": "Tree: every candidate. A wide line is a likely choice; blue is the output, grey was dropped.",
}


@dataclass(frozen=True)
class Explanation:
    """The inside of a model as it wrote `output` for `text`. What a model does not have is empty or None."""

    text: str
    output: str
    source: tuple[str, ...]  # tokens, including </s>
    tokens: tuple[str, ...]  # of the output, including </s> if it ended by itself
    steps: tuple[OutputStep, ...] = ()
    attention: tuple[AttentionLayer, ...] = ()
    beam: BeamTree | None = None
    saliency: tuple[Saliency, ...] = ()
    cells: tuple[CellTrace, ...] = ()
    gradients: GradientFlow | None = None
    tags: TagMarginals | None = None
    ctc: CTCAlignment | None = None
    frames: Matrix = ()  # of a source that is not a text

    @property
    def pictures(self) -> dict[str, Picture]:
        """Every picture that there is something to draw for, by its name."""
        found: list[Picture] = []
        if self.tags is not None:
            found.append(tag_marginals(self.tags))
        if self.ctc is not None:
            found.append(ctc_alignment(self.ctc))
        if self.attention:
            first = shown_first(self.attention)
            if self.frames and first.kind == "cross":
                found.append(frame_attention(self.frames, first))
            found += [attention_map(self.attention), ribbons(first), head_entropies(self.attention)]
        if self.beam is not None and self.beam.nodes:
            found.append(beam_tree_drawing(self.beam))
        if self.steps:
            found.append(step_table(self.steps))
        if self.saliency:
            cross = [layer for layer in self.attention if layer.kind == "cross"]
            found.append(saliency_maps(self.saliency, cross[-1] if cross else None))
        if any(trace.gates for trace in self.cells):
            found.append(gate_traces(self.cells))
        if self.cells:
            found.append(state_traces(self.cells))
        if self.gradients is not None:
            found.append(gradient_chart(self.gradients))
        return {picture.name: picture for picture in found}

    def picture(self, name: str) -> Picture:
        found = self.pictures
        if name not in found:
            raise UsageError(
                f'There is no picture "{name}" of this.',
                where="picture",
                expected="one of " + ", ".join(found),
                hint="Name one of these, or none for the usual ones.",
            )
        return found[name]

    def svg(self, picture: str | None = None, theme: str = LIGHT.name) -> str:
        """Return one picture, or attention and beam together."""
        look = theme_of(theme)
        if picture is not None:
            return self.picture(picture).svg(look)
        found = self.pictures
        names = [name for name in SIGNATURE if name in found][:2]
        if not names:
            return next(iter(found.values())).svg(look)
        drawn = [found[name].svg(look) for name in names]
        return together(drawn, f"{self.text} → {self.output}", [SIGNATURE[name] for name in names], look)

    def html(self) -> str:
        """Return a page with every picture, which needs no network."""
        return page(label(self.text, 48), (self.text, f"→ {self.output}"), list(self.pictures.values()))

    def save(self, path: str | Path, picture: str | None = None, theme: str = LIGHT.name) -> None:
        """Write a picture as .svg or .png, everything as .html, or the data as .json."""
        formats = picture_formats(lambda: self.svg(picture, theme), self.html, theme_of(theme))
        write_as(Path(path), "picture", {**formats, **data_format(self.asdict)})

    def asdict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        return table(self.text, self.output, self.steps, self.attention)

    def __repr__(self) -> str:
        return f"Explanation({self.text!r} → {self.output!r}, pictures={list(self.pictures)})"

    def _repr_html_(self) -> str:
        try:  # a notebook may be dark
            return self.svg().replace("<svg", f'<svg style="background: {LIGHT.page}"', 1)
        except MissingExtra:
            return f"<pre>{escape(str(self))}</pre>"
