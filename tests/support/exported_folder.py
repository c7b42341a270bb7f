"""A tiny Transformer with random weights that ends its outputs now and then, and its export beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from dragoman.config.load import validate
from dragoman.export.ct2 import export_ct2
from dragoman.models.builders.network import new_model
from dragoman.models.bundle import Bundle, save_bundle
from dragoman.models.calibration import Calibration
from dragoman.models.heads.token import TokenHead
from dragoman.search.repetition import OutputBounds
from dragoman.text.build import learn
from dragoman.text.specials import BOS, EOS, PAD
from support.tiny_bundle import TRANSFORMER

LINES = ["the cat sat on the mat", "a dog and a cat", "über die Donau", "there is no dog", "two dogs"]
NEVER = -30.0  # the bias of what must have no probability, for then both engines have the same scores

CALIBRATION = Calibration(
    sentences=9,
    tokens=((0.1, 0.2), (0.9, 0.8)),
    slope=1.0,
    offset=0.5,
    lowest=-1.3,
    shortest=0.4,
    longest=2.5,
    muted=(),
    bounds=OutputBounds(1.0, 10, 3),
    error=(0.2, 0.1),
)


def exported_folder(folder: Path, *, babbles: bool = True, **search: Any) -> Path:
    """Most outputs of one that babbles are loops."""
    data = folder.parent / "train.tsv"  # an export is proven on its lines, and they are few
    data.write_text("".join(f"{line}\t{line}\n" for line in LINES), encoding="utf-8")
    bundle = lively_bundle({"data": {"train": str(data)}, "search": search}, babbles=babbles)
    weights = {name: p.detach() for name, p in bundle.model.named_parameters()}
    calibration = CALIBRATION if babbles else None
    save_bundle(folder, bundle.config, bundle.text, weights, "A tiny model.\n", calibration)
    export_ct2(folder, None, "float32")
    return folder


def lively_bundle(settings: dict[str, Any], *, babbles: bool) -> Bundle:
    config = validate(
        {
            "data": settings["data"],
            "text": {"kind": "bpe", "size": 310},
            "model": {"encoder": TRANSFORMER, "decoder": TRANSFORMER, "tied": "none"},
            "search": {"size": 3, "max_length": 24, **settings["search"]},
        }
    )
    text = learn(config.text, zip(LINES * 4, LINES * 4, strict=True))
    model = new_model(config, text).eval()
    assert isinstance(model.head, TokenHead)
    random = torch.Generator().manual_seed(2)
    with torch.no_grad():
        scale, noise = (3.0, 0.0) if babbles else (2.1, 0.3)
        for p in model.parameters():
            p.mul_(scale).add_(torch.randn(p.shape, generator=random), alpha=noise)
        model.head.b[EOS] += 4.0 if babbles else 5.0
        model.head.b[[PAD, BOS]] = NEVER
        model.head.b[4:260] = NEVER  # bytes
    return Bundle(config, text, model)
