"""Verification of an export: PyTorch and the engine that runs it must give the same outputs and scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import torch

from dragoman.config.search import SearchConfig
from dragoman.data.collate import collate, collate_sources
from dragoman.errors import ModelError
from dragoman.export.probe_sentences import Row, Sentences, every_token
from dragoman.inference.runtimes.capabilities import Request, unsupported
from dragoman.inference.runtimes.exported import ExportRuntime
from dragoman.inference.runtimes.runtime import Engine
from dragoman.inference.runtimes.torch import TorchRuntime
from dragoman.models.bundle import Bundle
from dragoman.models.seq2seq import Seq2Seq
from dragoman.protocols import State, Step, Stepper
from dragoman.search.batch_invariance import length_batches
from dragoman.search.build import build
from dragoman.search.hypothesis import Hypothesis
from dragoman.shapes import Bool, Float, Int, Tensor
from dragoman.text.specials import BOS, EOS, PAD

SCORE = 1e-4  # largest difference between two scores of the same output
TOKEN = 1e-4  # largest relative difference between two log p of a random token, which can be −30 or less
BEAM = 0.995  # smallest share of equal beam search outputs: ties may be pruned differently
MASS = 1e-3  # of <pad> and <s>, in log p per token
ROWS = 32
# "n_best" is the only stopping criterion that all engines implement alike.
GREEDY, BEAM_5 = SearchConfig(kind="greedy"), SearchConfig(kind="beam", size=5, stop="n_best")


class Difference(NamedTuple):
    """One source whose outputs differ, with each engine's output and score."""

    source: str
    ours: str
    our_score: float
    theirs: str
    their_score: float


@dataclass
class Agreement:
    """How far two engines agree in one search; `worst` is the largest score difference of equal outputs."""

    sentences: int = 0
    same: int = 0
    worst: float = 0.0
    differences: list[Difference] = field(default_factory=list)


@dataclass(frozen=True)
class Proof:
    origin: str  # of the sentences
    bars_specials: bool  # whether the probability of <pad> and <s> was set to 0
    greedy: Agreement
    beam: Agreement
    as_run: Agreement | None  # with the search and guard settings of the model; None if unsupported
    tokens: int  # compared in random lines that cover the vocabularies
    worst_token: float  # the largest relative difference between log p of a token


class Barred:
    """A model with p(<pad>) = p(<s>) = 0: other log p increase by −log(1 − p(<pad>) − p(<s>))."""

    def __init__(self, model: Seq2Seq) -> None:
        self.model = model

    def start(self, src: Int[Tensor, "B S"], keep: Bool[Tensor, "B S"], width: int) -> State:
        return self.model.start(src, keep, width)

    def step(self, y: Int[Tensor, " N"], state: State) -> Step:
        step = self.model.step(y, state)
        return step._replace(log_p=barred(step.log_p))


def barred(log_p: Float[Tensor, "*N V"]) -> Float[Tensor, "*N V"]:
    out = torch.tensor([PAD, BOS], device=log_p.device)
    return log_p.index_fill(-1, out, -torch.inf).log_softmax(dim=-1)


def needs_bars(bundle: Bundle, samples: Sentences) -> bool:
    """Return whether <pad> and <s> have a significant probability: after little training, or with few tokens.

    Our search excludes them after the softmax, CTranslate2 can do so only before it. If the difference is
    negligible, the weights and scores are left unchanged.
    """
    greedy = decode(bundle.seq2seq, samples.rows, limited(GREEDY, bundle, samples))
    pairs = [(row, list(found.tokens)) for row, found in zip(samples.rows, greedy, strict=True)]
    with_bars, without = (log_p_of(bundle.seq2seq, pairs, bars) for bars in (True, False))
    lost = sum(map(sum, with_bars)) - sum(map(sum, without))
    return lost / sum(map(len, without)) > MASS


def prove(
    bundle: Bundle, engine: Engine, file: Path, samples: Sentences, *, bars_specials: bool = False
) -> Proof:
    """Compare the engine with PyTorch and return the results; raise ModelError if they differ."""
    pairs = every_token(bundle)
    ours = log_p_of(bundle.seq2seq, pairs, bars_specials)
    theirs = engine.score([source for source, _ in pairs], [[*target, EOS] for _, target in pairs])
    worst = worst_of(ours, theirs)
    if not worst <= TOKEN:
        raise mismatch(f"log p of a token differs by {worst:.2g}", file, f"at most {TOKEN:g}")
    stepper = Barred(bundle.seq2seq) if bars_specials else bundle.seq2seq
    greedy, beam = (compare(bundle, stepper, engine, samples, search) for search in (GREEDY, BEAM_5))
    refuse(greedy, "greedy search", 1.0, file)
    refuse(beam, "beam search", BEAM, file)
    tokens = sum(len(target) + 1 for _, target in pairs)
    as_run = compare_as_run(bundle, engine, samples)
    return Proof(samples.origin, bars_specials, greedy, beam, as_run, tokens, worst)


def compare(
    bundle: Bundle, stepper: Stepper, engine: Engine, samples: Sentences, search: SearchConfig
) -> Agreement:
    found, search = Agreement(), limited(search, bundle, samples)
    ours = decode(stepper, samples.rows, search)
    best = [hypotheses[0] for hypotheses in engine.search(samples.rows, search)]
    for row, mine, theirs in zip(samples.rows, ours, best, strict=True):
        found.sentences += 1
        if mine.tokens == theirs.tokens:
            found.same += 1
            found.worst = max(found.worst, abs(mine.score - theirs.score))
        elif search.kind == "greedy" and is_tie(bundle.seq2seq, row, mine, theirs):
            found.same += 1
        else:
            found.differences.append(
                Difference(
                    bundle.text.src.decode(row),
                    bundle.text.tgt.decode(mine.tokens),
                    mine.score,
                    bundle.text.tgt.decode(theirs.tokens),
                    theirs.score,
                )
            )
    return found


def compare_as_run(bundle: Bundle, engine: Engine, samples: Sentences) -> Agreement | None:
    """Compare complete translations, from text to text, with the model's own settings."""
    if unsupported(engine.name, Request(bundle.config.search, {})):
        return None
    light = ExportRuntime(engine, bundle.config, bundle.text, bundle.calibration)
    texts = [bundle.text.src.decode(row) for row in samples.rows]
    found = Agreement(len(texts))
    for source, mine, theirs in zip(texts, TorchRuntime(bundle)(texts), light(texts), strict=True):
        if mine.text == theirs.text:
            found.same += 1
            found.worst = max(found.worst, abs(mine.score - theirs.score))
        else:
            found.differences.append(Difference(source, mine.text, mine.score, theirs.text, theirs.score))
    return found


def limited(search: SearchConfig, bundle: Bundle, samples: Sentences) -> SearchConfig:
    """Limit the output length by the settings of the model and by the length of these sentences."""
    config = bundle.config
    need = 2 * max(map(len, samples.rows)) + 10
    most = min(need, config.search.max_length, config.model.decoder.longest or need)
    return search.model_copy(update={"max_length": most})


def refuse(agreement: Agreement, name: str, least: float, file: Path) -> None:
    if agreement.same < least * agreement.sentences:
        first = agreement.differences[0]
        shown = f'"{first.source}" became "{first.ours}" ({first.our_score:.5f}) in PyTorch and '
        shown += f'"{first.theirs}" ({first.their_score:.5f}) in the export'
        count = f"{agreement.same} of {agreement.sentences} outputs of {name} are the same"
        raise mismatch(f"{count}: {shown}", file, f"{least:.1%} of them")
    if not agreement.worst <= SCORE:
        raise mismatch(f"scores of {name} differ by {agreement.worst:.2g}", file, f"at most {SCORE:g}")


def mismatch(what: str, file: Path, expected: str) -> ModelError:
    return ModelError(
        f"The export does not match the model: {what}.",
        where=str(file),
        expected=expected,
        hint="Nothing was written. Please report this, with the model's settings.toml.",
    )


@torch.no_grad()
def decode(stepper: Stepper, rows: Sequence[Row], search: SearchConfig) -> list[Hypothesis]:
    """Return the best hypothesis of each row, in order."""
    found: dict[int, Hypothesis] = {}
    run = build(search)
    for places in length_batches([len(row) for row in rows], ROWS):
        hypotheses = run(stepper, *collate_sources([rows[place] for place in places]))
        found.update(zip(places, (best[0] for best in hypotheses), strict=True))
    return [found[place] for place in range(len(rows))]


@torch.no_grad()
def log_p_of(model: Seq2Seq, pairs: Sequence[tuple[Row, Row]], bars_specials: bool) -> list[list[float]]:
    """Return log p of each target token and of </s>, in order."""
    found: dict[int, list[float]] = {}
    for places in length_batches([len(target) for _, target in pairs], ROWS):
        batch = collate([pairs[place] for place in places])
        log_p = model.log_p(batch)
        log_p = barred(log_p) if bars_specials else log_p
        chosen = log_p.gather(2, batch.tgt_out.unsqueeze(2)).squeeze(2)
        for place, row, keep in zip(places, chosen, batch.tgt_keep, strict=True):
            found[place] = row[keep].tolist()
    return [found[place] for place in range(len(pairs))]


def is_tie(model: Seq2Seq, row: Row, mine: Hypothesis, theirs: Hypothesis) -> bool:
    """Return whether the first differing tokens are equally probable, so that both outputs are correct."""
    a, b = ([*hypothesis.tokens, EOS] for hypothesis in (mine, theirs))
    place = next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), None)
    if place is None:  # one was truncated before its </s>
        return False
    values = [log_p_of(model, [(row, side[: place + 1])], False)[0][place] for side in (a, b)]
    return abs(values[0] - values[1]) <= SCORE


def worst_of(ours: Sequence[Sequence[float]], theirs: Sequence[Sequence[float]]) -> float:
    """Return the largest relative difference; NaN counts as infinite."""
    gaps = [
        abs(x - y) / max(1.0, abs(x))
        for a, b in zip(ours, theirs, strict=True)
        for x, y in zip(a, b, strict=True)
    ]
    return max((math.inf if math.isnan(gap) else gap for gap in gaps), default=0.0)
