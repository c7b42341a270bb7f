"""A model led along references: its choices, its certainty, and how often it is right."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dragoman.search.forced import top1_confidence
from dragoman.text.specials import BOS, EOS
from support.steppers import Bigram, Script, sentences


def test_choices_by_hand() -> None:
    stepper = Script([0.0, 0.0, 0.0, 0.1, 0.7, 0.2], [0.0, 0.0, 0.0, 0.6, 0.1, 0.3])
    sure, right = top1_confidence(stepper, [(*sentences(1, 2), [[4, EOS], [5]])])
    assert sure.tolist() == pytest.approx([0.7, 0.7, 0.6])
    assert right.tolist() == [True, False, True]


def test_every_token_of_every_batch_is_judged_after_its_own_prefix() -> None:
    model = Bigram(seed=3)
    rows = {1: [4, 5, EOS], 2: [5, EOS], 3: [4, 4, 4, 5]}
    batches = [(*sentences(1, 2), [rows[1], rows[2]]), (*sentences(3), [rows[3]])]
    sure, right = top1_confidence(model, batches)
    wanted = []
    for source, row in rows.items():
        for before, token in zip([BOS, *row], row, strict=False):
            p = model.table[source, before].exp()
            wanted.append((round(float(p.max()), 5), int(p.argmax()) == token))
    got = [(round(float(p), 5), bool(hit)) for p, hit in zip(sure, right, strict=True)]
    assert sorted(got) == sorted(wanted)
    assert isinstance(sure, np.ndarray)
    assert torch.is_grad_enabled()
