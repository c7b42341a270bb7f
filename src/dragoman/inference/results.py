"""Conversion of decoded outputs to results: texts that meet the constraints, and a report on each."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple, Protocol, runtime_checkable

from dragoman.config.search import SearchConfig
from dragoman.inference.quality.checks import OutputChecker, ran_away
from dragoman.inference.quality.flags import FlagInput, compute_flags
from dragoman.inference.quality.token_details import OutputAnalysis
from dragoman.inference.result import EMPTY, Alternative, Result
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.trace import Trace
from dragoman.steering.basic_plan import BasicPlan
from dragoman.steering.placeholders import remove_placeholders, restore_case, without_invented
from dragoman.steering.reinsertion import (
    AttentionMatrix,
    WithoutPlaceholders,
    has_all_placeholders,
    reinsert_by_attention,
    reinsert_by_position,
)
from dragoman.steering.report import ConstraintOutcome, SteeredOutput, constraint_report
from dragoman.steering.words import folded
from dragoman.text.specials import EOS
from dragoman.text.tokenizer import Tokenizer


class DecodedSentence(NamedTuple):
    """The hypotheses of one source, best first. What was not requested is None."""

    source: Sequence[int]
    hypotheses: list[Hypothesis]
    trace: Trace | None
    is_cut: bool = False  # only a part of the source was read
    analysis: OutputAnalysis | None = None
    attention_matrix: AttentionMatrix | None = None  # of the tokens of the best hypothesis
    # By the model alone, where a prefix or another model had a say in the search.
    own_mean_log_p: float | None = None

    @property
    def best(self) -> Hypothesis:
        return self.hypotheses[0]

    @property
    def output(self) -> list[int]:
        """The tokens of the best hypothesis, with </s> if it ended."""
        return [*self.best.tokens, EOS] if self.best.finished else [*self.best.tokens]

    @property
    def mean_log_p(self) -> float:
        """What the model says of its own choices, which its confidence depends on."""
        return self.best.mean_log_p if self.own_mean_log_p is None else self.own_mean_log_p


class RenderedOutput(NamedTuple):
    """A decoded sentence with the text of each hypothesis, and the outcome of its constraints."""

    decoded: DecodedSentence
    texts: list[str]
    terms: tuple[ConstraintOutcome, ...] = ()


@runtime_checkable
class Decode(Protocol):
    def __call__(self, texts: Sequence[str], *, with_attention: bool = False) -> list[DecodedSentence | None]:
        """Return the decoded sentence of each text; None for one without words."""


def make_results(
    texts: Sequence[str],
    plan: BasicPlan | None,
    decode: Decode,
    tokenizer: Tokenizer,
    checker: OutputChecker,
    config: SearchConfig,
) -> list[Result]:
    """Return one result per text, in order; that of a text without words is empty."""
    if plan:
        answers = apply_steering(plan, decode)
    else:
        answers = [
            RenderedOutput(one, [tokenizer.decode(h.tokens) for h in one.hypotheses]) if one else None
            for one in decode(texts)
        ]
    pairs = zip(texts, answers, strict=True)
    return [make_result(text, answer, checker, config) if answer else EMPTY for text, answer in pairs]


def apply_steering(plan: BasicPlan, decode: Decode) -> list[RenderedOutput | None]:
    first = [trimmed(plan, one) for one in decode(plan.texts)]
    copies = [copied(plan, index, one.best) if one else "" for index, one in enumerate(first)]
    left = [
        "" if copy is not None else remove_placeholders(plan.texts[index], plan.requests[index].kept)[0]
        for index, copy in enumerate(copies)
    ]
    second = [trimmed(plan, one) for one in decode(left, with_attention=True)]
    answers: list[RenderedOutput | None] = []
    for index, (one, copy) in enumerate(zip(first, copies, strict=True)):
        decoded = second[index] or one
        if decoded is None:
            answers.append(None)
            continue
        text = copy if copy is not None else with_placeholders(plan, index, second[index])
        if copy is None or folded(text) != folded(plan.surfaces.tgt.tokenizer.decode(decoded.best.tokens)):
            decoded = decoded._replace(analysis=None)  # its positions are those of another text
        outcome = SteeredOutput(plan.texts[index], text, decoded.best.finished, copied=copy is not None)
        terms = constraint_report(plan.requests[index], plan.forbidden, outcome, lower=plan.is_lower)
        others = [alternative_text(plan, index, hypothesis) for hypothesis in decoded.hypotheses[1:]]
        answers.append(RenderedOutput(decoded, [text, *others], terms))
    return answers


def trimmed(plan: BasicPlan, decoded: DecodedSentence | None) -> DecodedSentence | None:
    """Remove a forbidden word from the end of a cut output: no letter can follow to make it another word."""
    if decoded is None or decoded.best.finished:
        return decoded
    tokens = decoded.best.tokens[: plan.may_end(decoded.best.tokens)]
    if len(tokens) == len(decoded.best.tokens):
        return decoded
    attention_matrix = None if decoded.attention_matrix is None else decoded.attention_matrix[: len(tokens)]
    hypotheses = [decoded.best._replace(tokens=tokens), *decoded.hypotheses[1:]]
    return decoded._replace(hypotheses=hypotheses, analysis=None, attention_matrix=attention_matrix)


def alternative_text(plan: BasicPlan, index: int, hypothesis: Hypothesis) -> str:
    """Return the text of an alternative, with missing placeholders inserted by relative position."""
    text = copied(plan, index, hypothesis)
    if text is not None:
        return text
    return reinsert_by_position(
        joined(plan, index, plan.written(index, hypothesis.tokens)), plan.wanted(index)
    )


def copied(plan: BasicPlan, index: int, best: Hypothesis) -> str | None:
    """Return the text of an output if it has each placeholder as often as the source, otherwise None.

    Placeholders that the source has not are removed.
    """
    wanted = plan.wanted(index)
    text = joined(plan, index, plan.written(index, best.tokens))
    text = restore_case(text, wanted.kept) if plan.is_lower else text
    text = without_invented(text, wanted.what, wanted.known, after=len(wanted.prefix))
    return text if has_all_placeholders(text, wanted.source, wanted.kept) else None


def with_placeholders(plan: BasicPlan, index: int, decoded: DecodedSentence | None) -> str:
    """Return the text of an output that was decoded without the placeholders, with these reinserted."""
    rest = None
    if decoded is not None:
        line = plan.written(index, decoded.best.tokens)
        rest = WithoutPlaceholders(decoded.source, line, plan.opening(index), decoded.attention_matrix)
    return reinsert_by_attention(plan.wanted(index), rest, plan.surfaces)


def joined(plan: BasicPlan, index: int, line: Sequence[bytes]) -> str:
    rest = b"".join(line)[plan.opening(index) :]
    return plan.prefixes[index] + plan.surfaces.tgt.read(rest)


def with_own_log_p(
    plan: BasicPlan | None, index: int, decoded: DecodedSentence, log_p: Sequence[float]
) -> DecodedSentence:
    """Add the mean log p of the tokens that the model has chosen: those that begin after the prefix.

    `log_p` are those of all tokens of the output by the model alone.
    """
    pieces = plan.written(index, decoded.best.tokens) if plan else []
    begins = accumulate(map(len, pieces), initial=0)
    forced = sum(begin < plan.opening(index) for begin in begins) if plan else 0
    chosen = log_p[min(forced, len(pieces)) :] or log_p
    return decoded._replace(own_mean_log_p=sum(chosen) / len(chosen))


def make_result(source: str, answer: RenderedOutput, checker: OutputChecker, config: SearchConfig) -> Result:
    decoded, text = answer.decoded, answer.texts[0]
    best = decoded.best
    truncated = decoded.is_cut or not best.finished
    details, alignment = decoded.analysis or (None, None)
    confidence = checker.confidence(decoded.mean_log_p)
    repeats = checker.repeats(decoded.source, best.tokens)
    seen = FlagInput(source, text, truncated, repeats, decoded.mean_log_p)
    pairs = list(zip(answer.texts, decoded.hypotheses, strict=True))
    return Result(
        text,
        best.score,
        truncated,
        best.tokens,
        compute_flags(seen, checker.limits),
        confidence,
        details,
        alignment,
        tuple(Alternative(t, h.score, h.tokens) for t, h in pairs) if len(pairs) > 1 else (),
        decoded.trace,
        answer.terms,
        ran_away(config, best),
        best.log_p,
    )
