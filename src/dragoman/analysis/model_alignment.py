"""Word alignments of given pairs by what a model attends to, or depends on, as it writes the target."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.inference.explain import forced_batch
from dragoman.inference.quality.token_details import SourceAndOutput, word_alignment
from dragoman.inference.result import WordAlignment
from dragoman.inference.runtimes.runtime import TokenScores
from dragoman.inference.runtimes.torch import TorchRuntime
from dragoman.inspection.attention import kind_of
from dragoman.inspection.capture import Capture
from dragoman.inspection.saliency import differentiable, input_gradients
from dragoman.models.seq2seq import Seq2Seq
from dragoman.protocols import Batch
from dragoman.shapes import Float, Tensor
from dragoman.text.specials import EOS

Weights = NDArray[np.float32]


def model_alignments(
    runtime: TorchRuntime, source: str, target: str, *, saliency: bool = False
) -> dict[str, WordAlignment]:
    """Return the alignments of a pair by each layer of attention, and with `saliency` by input × gradient.

    Those that are called "next" take the attention of the step that reads a word instead of that of the
    step that writes it (Chen et al. 2020).
    """
    network = runtime.model
    assert isinstance(network, Seq2Seq)
    src = runtime.text.read([source])[0].tolist()
    tgt = list(runtime.text.tgt.encode(target))
    written = SourceAndOutput(source, [*src, EOS], target, [*tgt, EOS])
    batch = forced_batch(src, [*tgt, EOS], runtime.device)
    found = dict(attention_weights(network, batch))
    if saliency:
        found["input × gradient"] = saliency_weights(network, batch)
    return {
        name: word_alignment(written, TokenScores([], None, weights), runtime.text) or ()
        for name, weights in found.items()
    }


def attention_weights(network: Seq2Seq, batch: Batch) -> Iterator[tuple[str, Weights]]:
    """Yield the attention of each layer to the source, the mean of its heads."""
    with torch.no_grad(), Capture(network) as seen:
        network.log_p(batch)
    modules = dict(network.named_modules())
    layers = [w for name, w in seen.attention.items() if kind_of(name, modules[name]) == "cross"]
    for number, weights in enumerate(layers, start=1):
        mean: Float[Tensor, "T S"] = weights[0].mean(dim=0).cpu()
        yield f"layer {number}", mean.numpy()
        yield f"layer {number}, next", torch.cat((mean[1:], mean[-1:])).numpy()


def saliency_weights(network: Seq2Seq, batch: Batch) -> Weights:
    """Return |e_i · ∂ log p(y_t) / ∂e_i|. That of </s> does not count."""
    with differentiable(network):
        scores = input_gradients(network, batch).abs().cpu()
    scores[:, -1] = 0.0
    weights: Weights = scores.numpy()
    return weights
