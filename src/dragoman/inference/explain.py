"""Explain what a model does with one text: search with a trace, then listen to the network on the output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple, Unpack

import torch

from dragoman.config.search import SearchConfig
from dragoman.data.collate import collate_sources
from dragoman.data.padding import SourceRow
from dragoman.inference.result import Result
from dragoman.inference.runtimes.torch import TorchRuntime, row_of
from dragoman.inspection.attention import attention_layers, matrix
from dragoman.inspection.beam_tree import beam_tree
from dragoman.inspection.capture import Capture, private
from dragoman.inspection.cells import convolution_traces, decoder_traces, encoder_traces
from dragoman.inspection.explanation import Explanation
from dragoman.inspection.forced_attention import ForcedAttention, forced_attention
from dragoman.inspection.gradient_flow import gradient_flow
from dragoman.inspection.saliency import saliencies
from dragoman.inspection.steps import output_steps
from dragoman.models.seq2seq import Seq2Seq
from dragoman.protocols import Batch, send
from dragoman.shapes import Float, Tensor
from dragoman.steering.options import SteeringOptions
from dragoman.text.specials import BOS, EOS


class Heard(NamedTuple):
    """What was heard of a network while it read a source and the output that a search has found."""

    network: Seq2Seq  # a copy to listen to, while other threads use the network itself
    result: Result
    source: SourceRow  # ids, or the features of each frame
    written: list[int]  # tokens, with </s> if the output ended by itself
    batch: Batch  # the sentence without padding, with its output
    log_p: Float[Tensor, "T V"]
    seen: Capture


def explain(
    runtime: TorchRuntime,
    text: str,
    search: SearchConfig | None = None,
    *,
    saliency: bool = True,
    attend: Mapping[int, int] | None = None,
    **options: Unpack[SteeringOptions],
) -> Explanation:
    """Return the inside of a model that translates; of an ensemble, that of its first model.

    `saliency` takes longer than all the rest: hundreds of gradients. The frames of a picture or a sound,
    whose file `text` names, have numbers for tokens, and no saliency. Saliency, gates and gradients are those
    of the network as it is, so that there are none if `attend` forces the attention of some steps.
    """
    heard = listen(runtime, text, search, attend or {}, **options)
    if isinstance(heard, Result):
        return Explanation(text, heard.text, (), ())
    found = decisions_of(runtime, text, heard)
    if attend:
        return found
    network, batch, src, tgt = heard.network, heard.batch, found.source, found.tokens
    return replace(
        found,
        saliency=saliencies(network, batch, src, tgt) if saliency and src else (),
        cells=(
            *encoder_traces(heard.seen, src),
            *decoder_traces(network, batch, tgt),
            *convolution_traces(heard.seen, src, tgt),
        ),
        gradients=gradient_flow(network, batch, src, tgt),
    )


def decisions_of(runtime: TorchRuntime, text: str, heard: Heard) -> Explanation:
    """Return the steps of an output, their attention, and the candidates of the search."""
    (_, result, row, written, batch, log_p, seen), piece = heard, runtime.text.tgt.piece
    src = tuple(map(runtime.text.src.piece, [*row, EOS])) if isinstance(row, list) else ()
    tgt = tuple(map(piece, written))
    return Explanation(
        text,
        result.text,
        src,
        tgt,
        output_steps(log_p, batch.tgt_out[0], piece),
        attention_layers(seen, src, tgt),
        None if result.trace is None else beam_tree(result.trace, piece),
        frames=() if isinstance(row, list) else matrix(torch.from_numpy(row).float()),
    )


def listen(
    runtime: TorchRuntime,
    text: str,
    search: SearchConfig | None,
    attend: Mapping[int, int],
    **options: Unpack[SteeringOptions],
) -> Heard | Result:
    """Search with a trace, and listen to the network while it reads the output; of nothing, the result."""
    network, config = private(network_of(runtime)), search or runtime.search
    searcher = runtime.over(ForcedAttention(network, attend)) if attend else runtime
    has_trace = config.kind in ("greedy", "beam")
    (result,) = searcher([text], config, details=True, trace=has_trace, **options)
    row = row_of(runtime.read([text])[0][: runtime.longest_source])
    if not len(row) or result.details is None:
        return result
    written = written_ids(result)
    batch = forced_batch(row, written, runtime.device)
    with torch.no_grad(), forced_attention(network, attend), Capture(network) as seen:
        log_p = network.log_p(batch)
    return Heard(network, result, row, written, batch, log_p[0], seen)


def network_of(runtime: TorchRuntime) -> Seq2Seq:
    assert isinstance(runtime.model, Seq2Seq)
    return runtime.model


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
