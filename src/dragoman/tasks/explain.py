"""Explain the answer of a model that does not translate: listen to its network on one input."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numpy as np
import torch
from torch import nn

from dragoman.errors import UsageError
from dragoman.inference.captions import CaptionRuntime
from dragoman.inference.continuation import ContinuationRuntime
from dragoman.inference.explain import explain as explain_translation
from dragoman.inference.explain import forced_batch
from dragoman.inference.runtimes.ctc import CTCRuntime
from dragoman.inference.runtimes.torch_network import HasOutputs, TorchNetwork
from dragoman.inference.runtimes.torch_scorers import TorchTokenLogP
from dragoman.inspection.attention import attention_layers, matrix
from dragoman.inspection.capture import Capture, private
from dragoman.inspection.cells import convolution_traces, decoder_traces, encoder_traces
from dragoman.inspection.data import AlignedToken, Choice, CTCAlignment, OutputStep, TagMarginals
from dragoman.inspection.data import entropy as entropy_of
from dragoman.inspection.explanation import Explanation
from dragoman.inspection.steps import output_steps
from dragoman.protocols import Outputs
from dragoman.search.tags import chain_of, probabilities
from dragoman.shapes import Bool, Tensor
from dragoman.tasks.classify import LabelAnswerer
from dragoman.tasks.lines import as_read, cut, pad_lines
from dragoman.tasks.tag import TagAnswerer
from dragoman.tasks.task import Answerer
from dragoman.text.running_words import words_of
from dragoman.text.specials import EOS, SPECIALS

T = TypeVar("T")


@torch.no_grad()
def explain(answerer: Answerer, text: str) -> Explanation:
    match answerer:
        case TagAnswerer():
            return explain_tags(answerer, text)
        case LabelAnswerer():
            return explain_label(answerer, text)
        case CTCRuntime():
            return explain_transcription(answerer, text)
        case CaptionRuntime():
            return explain_translation(answerer.runtime, text)
        case ContinuationRuntime():
            return explain_text(answerer, text)
    raise TypeError(f"{type(answerer).__name__} cannot be explained")


def explain_text(runtime: ContinuationRuntime, text: str) -> Explanation:
    """Return how a language model reads a text: the probability of each of its tokens after those before."""
    if not isinstance(runtime.log_p, TorchTokenLogP):
        raise needs_torch()
    network, tokenizer = private(runtime.log_p.model), runtime.text.tgt
    ids = tokenizer.encode(text)[: runtime.longest]
    if not ids:
        return Explanation(text, text, (), ())
    batch, tokens = forced_batch([], ids, runtime.log_p.device), tuple(map(tokenizer.piece, ids))
    seen, log_p = heard(network, lambda: network.log_p(batch))
    return Explanation(
        text,
        text,
        (),
        tokens,
        output_steps(log_p[0], batch.tgt_out[0], tokenizer.piece),
        attention_layers(seen, (), tokens),
        cells=tuple(decoder_traces(network, batch, tokens)),
    )


def explain_tags(answerer: TagAnswerer, text: str) -> Explanation:
    (answer,), words = answerer([text]), words_of(text)
    if not words:
        return Explanation(text, "", (), ())
    seen, outputs, keep = heard_line(answerer, text)
    tokens = (*words, SPECIALS[EOS])
    arrays = {name: x.numpy() for name, x in outputs.items()}
    p = probabilities(arrays["scores"], keep.numpy()[:, 1:], chain_of(arrays))[0]
    names = tuple(map(answerer.tokenizer.piece, range(p.shape[1])))
    marginals = TagMarginals(
        tuple(words), names, matrix(torch.from_numpy(p)), tuple(word.tag for word in answer.words)
    )
    return Explanation(
        text,
        answer.text,
        tokens,
        marginals.chosen,
        tuple(step_of(tag, row, names) for tag, row in zip(marginals.chosen, marginals.p, strict=True)),
        attention_layers(seen, tokens),
        cells=(*encoder_traces(seen, tokens), *convolution_traces(seen, tokens)),
        tags=marginals,
    )


def explain_label(answerer: LabelAnswerer, text: str) -> Explanation:
    (answer,) = answerer([text])
    if not answer.labels:
        return Explanation(text, "", (), ())
    seen, outputs, keep = heard_line(answerer, text)
    p = outputs["p"][0].tolist()
    tokens = tuple(token for token, _ in answerer.weighted(text, np.zeros(keep.shape[1])))
    names = tuple(map(answerer.text.tgt.piece, range(len(p))))
    return Explanation(
        text,
        answer.text,
        tokens,
        (answer.text,),
        (step_of(answer.text, tuple(p), names),),
        attention_layers(seen, tokens),
        cells=(*encoder_traces(seen, tokens), *convolution_traces(seen, tokens)),
    )


def explain_transcription(runtime: CTCRuntime, file: str) -> Explanation:
    (answer,) = runtime([file])
    (row,) = runtime.rows([file])
    ((_, log_y),) = runtime.frames([row], 1)
    used = sorted(set(answer.tokens))
    p = torch.from_numpy(log_y).exp()[:, [*used, log_y.shape[1] - 1]]
    labels = (*map(runtime.text.tgt.piece, used), "blank")
    tokens = tuple(AlignedToken(c.text, c.start, c.end, c.confidence) for c in answer.characters)
    source = matrix(torch.from_numpy(row)) if row.ndim == 2 else ()
    return Explanation(
        file,
        answer.text,
        () if row.ndim == 2 else tuple(map(runtime.text.src.piece, row.tolist())),
        tuple(token.token for token in tokens),
        ctc=CTCAlignment(tokens, labels, matrix(p), source),
    )


def heard_line(
    answerer: TagAnswerer | LabelAnswerer, text: str
) -> tuple[Capture, Outputs, Bool[Tensor, "1 S"]]:
    """Return what was heard while the network read one line, its outputs, and the mask of the line."""
    if not isinstance(answerer.network, TorchNetwork):
        raise needs_torch()
    network, config = answerer.network, answerer.lines.config
    (row,) = answerer.lines.text.read([as_read(config, text)])
    src, keep = map(torch.from_numpy, pad_lines(config, [cut(config, row)]))
    model = private(cast(nn.Module, network.model))
    with Capture(model) as seen:
        outputs = cast(HasOutputs, model).outputs(src.to(network.device), keep.to(network.device))
    return seen, {name: x.cpu() for name, x in outputs.items()}, keep


def needs_torch() -> UsageError:
    return UsageError(
        "An export has no layers to look at.", where="the model", hint="Load it with runtime=torch."
    )


def heard(network: nn.Module, run: Callable[[], T]) -> tuple[Capture, T]:
    with Capture(network) as seen:
        found = run()
    return seen, found


def step_of(token: str, p: tuple[float, ...], names: tuple[str, ...], top: int = 5) -> OutputStep:
    """Return a tag or a label with its probability, and the most likely ones."""
    best = sorted(range(len(p)), key=lambda n: -p[n])[:top]
    chosen = p[names.index(token)] if token in names else 0.0
    return OutputStep(token, chosen, entropy_of(p), tuple(Choice(names[n], p[n]) for n in best))
