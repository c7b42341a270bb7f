"""Any encoder reads frames: an example alone is as in a batch, and nothing beyond its end is read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from dragoman.config.model import ModelConfig
from dragoman.config.parameters import least_parameters
from dragoman.data.collate import collate
from dragoman.models.build import build_model
from dragoman.models.seq2seq import Seq2Seq
from dragoman.protocols import Batch
from support.pairs import DECODERS, ENCODERS

V, F = 23, 10
EMBEDDINGS: dict[str, dict[str, Any]] = {
    "pool": {"kind": "conv-pool", "channels": [6, 8]},
    "pool once": {"kind": "conv-pool", "channels": [3, 4, 5], "halvings": 1},
    "stride": {"kind": "conv-stride", "channels": [6, 8]},
    "projection": {"kind": "projection"},
}
READERS = ["transformer", "rotary", "bilstm", "gru", "conv", "reversed"]
READER_PARTS = {**ENCODERS, "reversed": {**ENCODERS["gru"], "reversed_source": True}}


def built(reader: str, embedding: str) -> Seq2Seq:
    parts = {"encoder": READER_PARTS[reader], "decoder": DECODERS["lstm fed"], "tied": "target"}
    config = ModelConfig.model_validate({**parts, "src_embedding": EMBEDDINGS[embedding]})
    model = build_model(config, F, V, smoothing=0.1, seed=1).double()
    assert sum(p.numel() for p in model.parameters()) >= least_parameters(config, F, V)
    return model


def rows(*lengths: int) -> list[tuple[np.ndarray, list[int]]]:
    rng = np.random.default_rng(0)
    return [(rng.normal(size=(m, F)).astype(np.float16), [5, 6, 7 + m % 9]) for m in lengths]


def double(batch: Batch) -> Batch:
    return batch._replace(src=batch.src.double())


@pytest.mark.parametrize("embedding", EMBEDDINGS)
@pytest.mark.parametrize("reader", READERS)
def test_alone_as_in_a_batch(reader: str, embedding: str):
    model = built(reader, embedding).eval()
    examples = rows(13, 1, 16, 7, 2)
    together = model.log_p(double(collate(examples)))
    for number, example in enumerate(examples):
        alone = model.log_p(double(collate([example])))
        assert torch.allclose(together[number], alone[0], atol=1e-12)


@pytest.mark.parametrize("embedding", EMBEDDINGS)
@pytest.mark.parametrize("reader", READERS)
def test_nothing_beyond_the_end_is_read(reader: str, embedding: str):
    model = built(reader, embedding).eval()
    batch = double(collate(rows(13, 6, 1)))
    soiled = batch.src.masked_fill(~batch.src_keep.unsqueeze(2), 1e3)
    assert torch.equal(model.log_p(batch), model.log_p(batch._replace(src=soiled)))


@pytest.mark.parametrize("embedding", EMBEDDINGS)
@pytest.mark.parametrize("reader", READERS)
def test_every_weight_and_every_frame_has_a_gradient(reader: str, embedding: str):
    model = built(reader, embedding)
    batch = double(collate(rows(13, 16)))
    src = batch.src.clone().requires_grad_()
    model(batch._replace(src=src)).loss.backward()
    assert all(p.grad is not None and p.grad.any() for p in model.encoder.parameters())
    assert src.grad is not None
    assert src.grad[batch.src_keep].any(dim=1).all()


@pytest.mark.parametrize(
    ("embedding", "length"), [("pool", 4), ("pool once", 7), ("stride", 4), ("projection", 13)]
)
def test_time_is_shortened(embedding: str, length: int):
    model = built("gru", embedding)
    batch = double(collate(rows(13, 5)))
    memory = model.encoder(batch.src, batch.src_keep)
    assert memory.states.shape[1] == length
    assert memory.keep[0].all()
    step = 13 / length
    assert memory.keep[1].sum() == -(-5 // round(step))


def test_bf16_reads_frames_of_float32():
    with torch.autocast("cpu"):
        assert built("transformer", "stride")(collate(rows(13, 5))).loss.isfinite()


def test_settings_that_do_not_fit_are_refused():
    def refused(**more: Any) -> str:
        parts = {"decoder": DECODERS["lstm fed"], "tied": "target", "src_embedding": EMBEDDINGS["pool"]}
        with pytest.raises(ValueError) as caught:
            ModelConfig.model_validate({**parts, "encoder": ENCODERS["transformer"], **more})
        return str(caught.value)

    assert "has no table to share" in refused(tied="all", decoder=ENCODERS["transformer"])
    assert "which frames do not have" in refused(encoder={**ENCODERS["transformer"], "reads_end": False})
    assert "list more channels" in refused(src_embedding={**EMBEDDINGS["pool"], "halvings": 3})


@pytest.mark.parametrize("embedding", ["pool", "stride"])
@pytest.mark.parametrize("reader", ["transformer", "gru"])
def test_vectors_are_as_large_at_the_start_as_a_normalised_one(reader: str, embedding: str):
    """Smaller ones starve a recurrent encoder: CTC then predicts blanks alone for hundreds of updates."""
    encoder = built(reader, embedding).encoder
    read: list[torch.Tensor] = []
    encoder.encoder.embed.register_forward_hook(lambda _, __, out: read.append(out))
    batch = double(collate(rows(16, 16)))
    encoder.eval()(batch.src, batch.src_keep)
    assert 0.5 < read[0].detach().std().item() < 2.0
