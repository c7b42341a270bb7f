"""Search options of `dragoman run`: --nbest, --sample, --ensemble, --reverse, --lm, --trace."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from dragoman.errors import UsageError
from dragoman.spelling import closest, did_you_mean

if TYPE_CHECKING:
    from dragoman.config.search import SearchConfig
    from dragoman.inference.model import Model
    from dragoman.inference.result import Result

SAMPLING = {"temperature": "temperature", "top-k": "top_k", "top-p": "top_p", "seed": "seed"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("search").add_argument
    add("--nbest", type=int, metavar="N", help="print the N best outputs of each line: number, score, text")
    add(
        "--sample",
        action="append",
        metavar="KEY=VALUE",
        help="sample at random: temperature=0.7, top-k=10, top-p=0.9 or seed=2, or several with commas",
    )
    add(
        "--ensemble",
        action="extend",
        nargs="+",
        metavar="MODEL",
        help="further models with the same vocabulary, to vote with MODEL",
    )
    add("--reverse", metavar="MODEL", help="re-rank the outputs with a model for the opposite direction")
    add(
        "--lm",
        metavar="MODEL",
        help="let a language model with the same target vocabulary take part in the search",
    )
    add(
        "--lm-weight",
        type=float,
        metavar="B",
        help="the weight of that language model (default: search.lm_weight)",
    )
    add("--trace", type=Path, metavar="FILE", help="write every candidate of the search, as JSON")


def overrides(args: argparse.Namespace, own: SearchConfig) -> list[str]:
    """Return the settings that the options imply; `own` is the search of the model's settings."""
    found = [] if args.nbest is None else [f"search.n_best={args.nbest}"]
    if args.nbest and not args.sample and own.kind in ("greedy", "beam"):
        size = own.groups * -(-max(own.size, args.nbest) // own.groups)
        found += ["search.kind=beam", f"search.size={size}"]
    if args.lm_weight is not None:
        found.append(f"search.lm_weight={args.lm_weight}")
    if args.sample:
        found.append("search.kind=sample")
        pairs = [pair for option in args.sample for pair in option.split(",")]
        found += [sampling(pair) for pair in pairs]
    return found


def sampling(pair: str) -> str:
    key, separator, value = pair.strip().partition("=")
    if key not in SAMPLING or not separator:
        close = closest(key.replace("_", "-"), SAMPLING)
        raise UsageError(
            f'--sample has no option "{pair}".' + did_you_mean(close and f"{close}=…"),
            where="the command line",
            expected="KEY=VALUE, with one of " + ", ".join(SAMPLING),
            hint="--sample top-p=0.9,temperature=0.7",
        )
    return f"search.{SAMPLING[key]}={value}"


def n_best_lines(number: int, result: Result) -> str:
    """Return one line per alternative; one line for a result without alternatives."""
    rows = [(a.score, a.text) for a in result.alternatives] or [(result.score, result.text)]
    return "\n".join("\t".join((str(number), f"{score:.4f}", line(text))) for score, text in rows)


def line(text: str) -> str:
    """Replace newlines, which a byte-level model may write, so that an output stays on one line."""
    return text.replace("\n", " ")


@contextmanager
def opened_traces(file: Path | None, model: Model) -> Iterator[Traces | None]:
    """Open a file for one JSON list, written completely or not at all; yield None without a file."""
    if file is None:
        yield None
        return
    from dragoman.cli.verbs.run import opened_output

    with opened_output(file) as out:
        traces = Traces(out, model.runtime.text.tgt.piece)
        yield traces
        traces.end()


class Traces:
    def __init__(self, out: TextIO, piece: Callable[[int], str]) -> None:
        self.out, self.piece, self.before = out, piece, "["

    def add(self, source: str, result: Result) -> None:
        """Write the trace of a result; a text without words has none."""
        if result.trace is not None:
            found = {"source": source, "output": result.text, **result.trace.to_json(self.piece)}
            self.out.write(f"{self.before}\n{json.dumps(found, ensure_ascii=False)}")
            self.before = ","

    def end(self) -> None:
        self.out.write("]\n" if self.before == "," else "[]\n")
