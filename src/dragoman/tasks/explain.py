"""Explain the answer of a model that does not translate: listen to its network on one input."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch
from torch import nn

from dragoman.data.readers.tagged import words_of
from dragoman.inference.continuation import ContinuationRuntime
from dragoman.inference.explain import forced_batch
from dragoman.inference.runtimes.ctc import CTCRuntime
from dragoman.inspection.attention import attention_layers, matrix
from dragoman.inspection.capture import Capture
from dragoman.inspection.cells import convolution_traces, decoder_traces, encoder_traces
from dragoman.inspection.data import AlignedToken, Choice, CTCAlignment, OutputStep, TagMarginals
from dragoman.inspection.data import entropy as entropy_of
from dragoman.inspection.explanation import Explanation
from dragoman.inspection.steps import output_steps
from dragoman.models.language_model import LanguageModel
from dragoman.models.tagger import JointTagger, Tagger
from dragoman.shapes import Bool, Int, Tensor
from dragoman.tasks.classify import LabelAnswerer
from dragoman.tasks.tag import TagAnswerer
from dragoman.tasks.task import Answerer
from dragoman.tasks.words import collate_sources
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
        case ContinuationRuntime():
            return explain_text(answerer, text)
    raise TypeError(f"{type(answerer).__name__} cannot be explained")


def explain_text(runtime: ContinuationRuntime, text: str) -> Explanation:
    """Return how a language model reads a text: the probability of each of its tokens after those before."""
    network, tokenizer = runtime.model, runtime.text.tgt
    assert isinstance(network, LanguageModel)
    ids = tokenizer.encode(text)[: runtime.longest_target]
    if not ids:
        return Explanation(text, text, (), ())
    batch, tokens = forced_batch([], ids, runtime.device), tuple(map(tokenizer.piece, ids))
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
    src, keep = one_line(answerer, text)
    model, tokens = answerer.model, (*words, SPECIALS[EOS])
    seen, _ = heard(model, lambda: model.tags(src, keep))
    p = model.head.marginals(encoded(model, src, keep), keep[:, 1:])[0]
    names = tuple(map(answerer.tokenizer.piece, range(p.shape[1])))
    marginals = TagMarginals(tuple(words), names, matrix(p), tuple(word.tag for word in answer.words))
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
    src, keep = one_line(answerer, text)
    seen, labels = heard(answerer.model, lambda: answerer.model.labels(src, keep))
    tokens = tuple(token for token, _ in answerer.weighted(text, [0.0] * src.shape[1]))
    names = tuple(map(answerer.text.tgt.piece, range(labels.p.shape[1])))
    return Explanation(
        text,
        answer.text,
        tokens,
        (answer.text,),
        (step_of(answer.text, tuple(labels.p[0].tolist()), names),),
        attention_layers(seen, tokens),
        cells=(*encoder_traces(seen, tokens), *convolution_traces(seen, tokens)),
    )


def explain_transcription(runtime: CTCRuntime, file: str) -> Explanation:
    (answer,) = runtime([file])
    ((_, row, log_y),) = runtime.frames([file], 1)
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


def one_line(
    answerer: TagAnswerer | LabelAnswerer, text: str
) -> tuple[Int[Tensor, "1 S *n"], Bool[Tensor, "1 S"]]:
    """Return one line without padding."""
    lines = answerer.lines
    (row,) = lines.text.read([" ".join(words_of(text))])
    src, keep = collate_sources(lines.config, [row[: lines.most]])
    return src.to(lines.device), keep.to(lines.device)


def heard(network: nn.Module, run: Callable[[], T]) -> tuple[Capture, T]:
    with Capture(network) as seen:
        found = run()
    return seen, found


def encoded(model: Tagger | JointTagger, src: Int[Tensor, "B S *n"], keep: Bool[Tensor, "B S"]) -> Tensor:
    return model.encoder(src, keep).states[:, :-1]


def step_of(token: str, p: tuple[float, ...], names: tuple[str, ...], top: int = 5) -> OutputStep:
    """Return a tag or a label with its probability, and the most likely ones."""
    best = sorted(range(len(p)), key=lambda n: -p[n])[:top]
    chosen = p[names.index(token)] if token in names else 0.0
    return OutputStep(token, chosen, entropy_of(p), tuple(Choice(names[n], p[n]) for n in best))
