"""Explain what a model does with one text: search with a trace, then listen to the network on the output."""

from __future__ import annotations

import numpy as np
import torch

from dragoman.config.search import SearchConfig
from dragoman.data.collate import collate_sources
from dragoman.data.padding import SourceRow
from dragoman.inference.result import Result
from dragoman.inference.runtimes.torch import TorchRuntime
from dragoman.inspection.attention import attention_layers, matrix
from dragoman.inspection.beam_tree import beam_tree
from dragoman.inspection.capture import Capture
from dragoman.inspection.cells import convolution_traces, decoder_traces, encoder_traces
from dragoman.inspection.explanation import Explanation
from dragoman.inspection.gradient_flow import gradient_flow
from dragoman.inspection.saliency import saliencies
from dragoman.inspection.steps import output_steps
from dragoman.models.seq2seq import Seq2Seq
from dragoman.protocols import Batch, send
from dragoman.text.specials import BOS, EOS


def explain(
    runtime: TorchRuntime, text: str, search: SearchConfig | None = None, *, saliency: bool = True
) -> Explanation:
    """Return the inside of a model that translates; of an ensemble, that of its first model.

    `saliency` takes longer than all the rest: hundreds of gradients. The frames of a picture or a sound,
    whose file `text` names, have numbers for tokens, and no saliency.
    """
    network = runtime.model
    assert isinstance(network, Seq2Seq)
    (result,) = runtime([text], search, details=True, trace=True)
    row = np.asarray(runtime.read([text])[0][: runtime.longest_source])
    if not len(row) or result.details is None:
        return Explanation(text, result.text, (), ())
    is_text, written = row.ndim == 1, written_ids(result)
    batch = forced_batch(row, written, runtime.device)
    src = tuple(map(runtime.text.src.piece, [*row.tolist(), EOS])) if is_text else ()
    tgt = tuple(map(runtime.text.tgt.piece, written))
    with torch.no_grad(), Capture(network) as seen:
        log_p = network.log_p(batch)
    return Explanation(
        text,
        result.text,
        src,
        tgt,
        output_steps(log_p[0], batch.tgt_out[0], runtime.text.tgt.piece),
        attention_layers(seen, src, tgt),
        None if result.trace is None else beam_tree(result.trace, runtime.text.tgt.piece),
        saliencies(network, batch, src, tgt) if saliency and is_text else (),
        (
            *encoder_traces(seen, src),
            *decoder_traces(network, batch, tgt),
            *convolution_traces(seen, src, tgt),
        ),
        gradient_flow(network, batch, src, tgt),
        frames=() if is_text else matrix(torch.from_numpy(row).float()),
    )


def written_ids(result: Result) -> list[int]:
    """Return the tokens of the output, with </s> if it ended by itself."""
    ended = result.details is not None and len(result.details) > len(result.tokens)
    return [*result.tokens, EOS] if ended else list(result.tokens)


def forced_batch(source: SourceRow, written: list[int], device: torch.device) -> Batch:
    """Return one sentence, without padding, whose output is given."""
    src, keep = collate_sources([source])
    y = torch.tensor([written])
    before = torch.tensor([[BOS, *written[:-1]]])
    return Batch(*(send(x, device) for x in (src, keep, before, y, torch.ones_like(y, dtype=torch.bool))))
