"""Whether the tags of the training data are IOB2, which constrains the answers of a CRF."""

from __future__ import annotations

import numpy as np

from dragoman.config.parts.head import CRFHeadPart
from dragoman.config.root import Config
from dragoman.data.build import TrainingData
from dragoman.nn.crf import iob_forbidden

LOOKED_AT = 10_000  # rows of each corpus, from all of it
MISTAKES = 0.05  # the share of lines with I-x that may be wrong; of IOB1, nearly all are


def unconstrained(config: Config, data: TrainingData) -> Config | None:
    """Return the settings without the constraints of a CRF if the tags that it learns from are not IOB2."""
    head = config.model.head
    if not isinstance(head, CRFHeadPart) or not head.constraints or is_iob2(data, has_label=head.label):
        return None
    model = config.model.model_copy(update={"head": head.model_copy(update={"constraints": False})})
    return config.model_copy(update={"model": model})


def is_iob2(data: TrainingData, *, has_label: bool) -> bool:
    names = [data.text.tgt.piece(id) for id in range(data.text.tgt.size)]
    no_start, no_step = (mask.numpy() for mask in iob_forbidden(names))
    inside = wrong = 0
    for store in data.stores:
        rows = np.linspace(0, len(store) - 1, min(len(store), LOOKED_AT)).astype(np.int64)
        for _, tgt in store.read(rows):
            y = tgt[has_label:]
            if no_start[y].any():
                inside += 1
                wrong += bool(no_start[y[0]] or no_step[y[:-1], y[1:]].any())
    return wrong <= MISTAKES * inside
