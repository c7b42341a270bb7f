"""Decoded outputs → texts that have what was asked for, and a report on each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from dragoman.config.search import SearchConfig
from dragoman.inference.quality.checks import OutputChecker, ran_away
from dragoman.inference.quality.token_details import OutputAnalysis
from dragoman.inference.result import EMPTY, Alternative, Result
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.trace import Trace
from dragoman.steering.basic_plan import BasicPlan
from dragoman.steering.placeholders import remove_placeholders, restore_case, restore_counts
from dragoman.steering.reinsertion import (
    AttentionMatrix,
    WithoutPlaceholders,
    has_all_placeholders,
    reinsert_placeholders,
)
from dragoman.steering.report import ConstraintOutcome, SteeredOutput, constraint_report
from dragoman.text.tokenizer import Tokenizer


class DecodedSentence(NamedTuple):
    """What was found for one source, best first. What was not asked for is None."""

    source: Sequence[int]
    hypotheses: list[Hypothesis]
    trace: Trace | None
    is_cut: bool = False  # the source was read in part
    known: OutputAnalysis | None = None
    looks: AttentionMatrix | None = None  # where the model looked for each token of the best

    @property
    def best(self) -> Hypothesis:
        return self.hypotheses[0]


class RenderedOutput(NamedTuple):
    """`texts` are those of the hypotheses."""

    decoded: DecodedSentence
    texts: list[str]
    terms: tuple[ConstraintOutcome, ...] = ()


@runtime_checkable
class Decode(Protocol):
    def __call__(self, texts: Sequence[str], *, look: bool = False) -> list[DecodedSentence | None]:
        """What is found for each text; None for one without words."""


def make_results(
    texts: Sequence[str],
    wanted: BasicPlan | None,
    decode: Decode,
    tokenizer: Tokenizer,
    judge: OutputChecker,
    config: SearchConfig,
) -> list[Result]:
    """One for each text, in order. A text without words has an empty one."""
    if wanted:
        answers = apply_steering(wanted, decode)
    else:
        answers = [
            RenderedOutput(one, [tokenizer.decode(h.tokens) for h in one.hypotheses]) if one else None
            for one in decode(texts)
        ]
    pairs = zip(texts, answers, strict=True)
    return [make_result(text, answer, judge, config) if answer else EMPTY for text, answer in pairs]


def apply_steering(wanted: BasicPlan, decode: Decode) -> list[RenderedOutput | None]:
    first = [trimmed(wanted, one) for one in decode(wanted.texts)]
    copies = [copied(wanted, place, one.best) if one else "" for place, one in enumerate(first)]
    left = [
        "" if copy is not None else remove_placeholders(wanted.texts[place], wanted.wishes[place].kept)[0]
        for place, copy in enumerate(copies)
    ]
    second = [trimmed(wanted, one) for one in decode(left, look=True)]
    answers: list[RenderedOutput | None] = []
    for place, (one, copy) in enumerate(zip(first, copies, strict=True)):
        decoded = second[place] or one
        if decoded is None:
            answers.append(None)
            continue
        text = copy if copy is not None else with_kept(wanted, place, second[place])
        outcome = SteeredOutput(wanted.texts[place], text, decoded.best.finished, copied=copy is not None)
        terms = constraint_report(wanted.wishes[place], wanted.forbidden, outcome, lower=wanted.is_lower)
        others = [mended(wanted, place, hypothesis) for hypothesis in decoded.hypotheses[1:]]
        answers.append(RenderedOutput(decoded, [text, *others], terms))
    return answers


def trimmed(wanted: BasicPlan, decoded: DecodedSentence | None) -> DecodedSentence | None:
    """Without a forbidden word at the end, of which the output was cut before a letter made another word."""
    if decoded is None or decoded.best.finished:
        return decoded
    tokens = decoded.best.tokens[: wanted.may_end(decoded.best.tokens)]
    looks = None if decoded.looks is None else decoded.looks[: len(tokens)]
    best = decoded.best._replace(tokens=tokens)
    return decoded._replace(hypotheses=[best, *decoded.hypotheses[1:]], looks=looks)


def mended(wanted: BasicPlan, place: int, hypothesis: Hypothesis) -> str:
    """The text of an output that is not the best, with what is kept put in straight along."""
    text = joined(wanted, place, wanted.written(place, hypothesis.tokens))
    kept, after = wanted.wishes[place].kept, len(wanted.prefixes[place])
    return restore_counts(text, wanted.texts[place], kept, after=after)


def copied(wanted: BasicPlan, place: int, best: Hypothesis) -> str | None:
    """The text of an output, if it has all that is kept as often as the source has it."""
    kept, source = wanted.wishes[place].kept, wanted.texts[place]
    text = joined(wanted, place, wanted.written(place, best.tokens))
    text = restore_case(text, kept) if wanted.is_lower else text
    return text if has_all_placeholders(text, source, kept) else None


def with_kept(wanted: BasicPlan, place: int, decoded: DecodedSentence | None) -> str:
    """The text of an output of the rest, with what is kept put in again."""
    rest = None
    if decoded is not None:
        line = wanted.written(place, decoded.best.tokens)
        rest = WithoutPlaceholders(decoded.source, line, wanted.opening(place), decoded.looks)
    kept, prefix = wanted.wishes[place].kept, wanted.prefixes[place]
    return reinsert_placeholders(wanted.texts[place], kept, prefix, rest, wanted.surfaces)


def joined(wanted: BasicPlan, place: int, line: Sequence[bytes]) -> str:
    rest = b"".join(line)[wanted.opening(place) :]
    return wanted.prefixes[place] + wanted.surfaces.tgt.read(rest)


def make_result(source: str, answer: RenderedOutput, judge: OutputChecker, config: SearchConfig) -> Result:
    decoded, text = answer.decoded, answer.texts[0]
    best = decoded.best
    truncated = decoded.is_cut or not best.finished
    details, alignment = decoded.known or (None, None)
    pairs = list(zip(answer.texts, decoded.hypotheses, strict=True))
    return Result(
        text,
        best.score,
        truncated,
        best.tokens,
        judge.flags(source, decoded.source, text, best, truncated=truncated),
        judge.confidence(best),
        details,
        alignment,
        tuple(Alternative(t, h.score, h.tokens) for t, h in pairs) if len(pairs) > 1 else (),
        decoded.trace,
        answer.terms,
        ran_away(config, best),
    )
