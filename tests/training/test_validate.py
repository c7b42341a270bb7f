"""Validation: its batches are as large as those of training, whatever the pairs are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from dragoman.config.load import load
from dragoman.data.signals.corpus import FiledFrames
from dragoman.training.events import Events
from dragoman.training.parallel import Ranks
from dragoman.training.run import Run
from dragoman.training.validate import Validator
from support.runs import TRANSFORMER, settings


def validator_of(base: dict[str, object], out: Path) -> Validator:
    config = load(None, base=base)
    data = Run(config, out, [], lambda _: True).data(Ranks(), Events(None, []))
    return Validator(config, data.text, data.valid, torch.device("cpu"))


def test_batches_have_so_many_tokens_and_make_no_difference(
    words: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    validator = validator_of(settings(words, TRANSFORMER, valid_decode=0), tmp_path)
    assert "model" not in vars(validator), "a rank that does not validate has no copy"
    weights = dict(validator.model.named_parameters())
    losses = []
    for most in (40, 4096):
        monkeypatch.setattr("dragoman.training.validate.VALID_BATCH_TOKENS", most)
        batches = list(validator.batches())
        assert sum(len(batch.src) for batch in batches) == len(validator.rows)
        assert all(max(b.src.numel(), b.tgt_out.numel()) <= most or len(b.src) == 1 for b in batches)
        assert sum(len(batch.src) == 1 for batch in batches) <= 1
        losses.append(validator(weights).loss)
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_frames_of_validation_wait_in_a_file(tmp_path: Path) -> None:
    for n in range(9):
        np.save(tmp_path / f"{n}.npy", np.full((5 + n, 3), n / 8, np.float32))
    lines = [f"{n}.npy\t{'ab'[n % 2]}\n" for n in range(9)]
    for name in ("train", "valid"):
        (tmp_path / f"{name}.tsv").write_text("".join(lines), encoding="utf-8")
    base = {
        "task": "transcribe",
        "data": {
            "train": str(tmp_path / "train.tsv"),
            "valid": str(tmp_path / "valid.tsv"),
            "source": {"kind": "numbers", "features": 3},
        },
        "model": {"encoder": {"kind": "rnn", "width": 8, "embedding": 8}},
    }
    validator = validator_of(base, tmp_path / "run")
    sources = [src for src, _ in validator.rows]
    assert all(isinstance(src, FiledFrames) for src in sources)
    (batch,) = validator.batches()
    kept = [batch.src[row, : int(keep.sum())] for row, keep in enumerate(batch.src_keep)]
    assert sorted((len(frames), float(frames.mean())) for frames in kept) == [
        (5 + n, n / 8) for n in range(9)
    ]
