"""`dragoman prepare`: vocabularies and token stores for a later `dragoman train`, in several processes."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.cli.options.overrides import add_data
from dragoman.errors import UsageError, needs_extra

if TYPE_CHECKING:
    from dragoman.config.root import Config
    from dragoman.data.build import DataPlan, TrainingData
    from dragoman.data.executors import Executor

HELP = """\
Prepare large data before training, on all cores or on several machines: vocabularies, tokens and validation
pairs. `dragoman train` does the same on one core, so most people never need this.

  dragoman prepare train.en train.de --valid val.en val.de -o en-de
  dragoman train -o en-de                    train on what is prepared

Stop it at any time: the same command resumes it. The work is cut into shards of data.shard_pairs lines, each
of which is complete or absent, and the result is the same to the byte however it was made.

On a Slurm cluster whose machines share the folder, prepare the parts as an array. Then run the command once
more without --executor: it joins the parts and makes up for failed tasks.

  sbatch --array=0-63 --wrap "dragoman prepare big.tsv -o m --executor slurm"

For another scheduler, run --part 1/64 to --part 64/64. For a Ray cluster, set RAY_ADDRESS and use
--executor ray."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_data(parser)
    add = parser.add_argument_group("processes").add_argument
    add("--workers", type=int, metavar="N", help="processes (default: one per core)")
    add(
        "--executor",
        choices=("pool", "slurm", "ray"),
        default="pool",
        help="what runs the processes (default: this machine)",
    )
    add("--part", metavar="K/N", help="prepare only the K-th of N parts")
    parser.set_defaults(budget=None)


def run(args: argparse.Namespace) -> int:
    from dragoman.cli.options.training_data import refuse_moved, resolve_inputs
    from dragoman.cli.terminal import talk, typed
    from dragoman.config.load import load
    from dragoman.data.stores import Unfinished

    sources = resolve_inputs(args)
    config, out = load(sources.settings, sources.overrides, sources.implied, is_new=True), sources.out
    if sources.settings == out / "settings.toml":
        refuse_moved(config, sources.settings, out)
    part = part_of_array(os.environ) if args.executor == "slurm" else parsed(args.part)
    execute = executor(args, part)
    command = typed("prepare") or shlex.join(["dragoman", "prepare", "-o", str(out)])
    try:
        data = prepare(config, out, execute, is_part=part is not None)
    except Unfinished as unfinished:
        talk(f"This part is done. {unfinished.what} When all parts are done:")
        talk(f"  {shlex.join(['dragoman', 'prepare', '-o', str(out)])}")
        return 0
    except KeyboardInterrupt:
        talk(f"Stopped; finished shards are kept. To resume:  {command}")
        return 128 + signal.SIGINT
    for line in summary(data, out):
        talk(line)
    return 0


def executor(args: argparse.Namespace, part: tuple[int, int] | None) -> Executor:
    from functools import partial

    from dragoman.cores import cores
    from dragoman.data.executors import in_pool, part_of

    workers = cores() if args.workers is None else args.workers
    if workers < 1:
        raise UsageError(
            f"--workers is {workers}.", where="the command line", expected="at least 1", hint="--workers 4"
        )
    execute = in_pool(workers)
    if args.executor == "ray":
        with needs_extra("Ray is not installed.", "scale", "ray"):
            from dragoman.data.ray_executor import in_ray
        execute = partial(in_ray, workers)
    return part_of(execute, *part) if part else execute


def parsed(text: str | None) -> tuple[int, int] | None:
    """Return the part, counted from 0, and the number of parts."""
    if text is None:
        return None
    numbers = re.fullmatch(r"(\d+)/(\d+)", text)
    part, parts = (int(number) for number in numbers.groups()) if numbers else (0, 0)
    if not 1 <= part <= parts:
        raise UsageError(
            f"{text} is not a part.",
            where=f"--part {text}",
            expected="a number and how many parts there are, from 1/N to N/N",
            hint="--part 1/64",
        )
    return part - 1, parts


def part_of_array(environment: Mapping[str, str]) -> tuple[int, int]:
    """Return which task of a Slurm array this process is, counted from 0, and their number."""
    names = [f"SLURM_ARRAY_TASK_{name}" for name in ("ID", "MIN", "STEP", "COUNT")]
    known = [environment.get(name, "") for name in names]
    if not all(number.isdecimal() for number in known):
        raise UsageError(
            "This process is not a task of a Slurm array.",
            where=f"{names[0]} is not set",
            expected="a job that was submitted with sbatch --array",
            hint="sbatch --array=0-63 --wrap 'dragoman prepare … --executor slurm'",
        )
    task, first, step, count = map(int, known)
    part, rest = divmod(task - first, max(step, 1))
    if rest or not 0 <= part < count:
        raise UsageError(
            f"Task {task} has no place in an array of {count} tasks from {first} in steps of {step}.",
            where=names[0],
            expected="an array without gaps",
            hint=f"sbatch --array=0-{count - 1} …; or name the part yourself: --part K/N",
        )
    return part, count


def prepare(config: Config, out: Path, execute: Executor, *, is_part: bool) -> TrainingData:
    from dragoman.cli.training_view.preparation import PreparationLine
    from dragoman.data.build import carry_out
    from dragoman.training.events import prepare_event
    from dragoman.training.state.lock import locked

    with PreparationLine() as line:
        line({"event": "reading"})
        if is_part:  # other parts are prepared at the same time
            plan = plan_in_turn(config, out)
            return carry_out(plan, execute, lambda *done: line(prepare_event(*done)))
        make_folder(out)
        with locked(out):
            return carry_out(planned(config, out), execute, lambda *done: line(prepare_event(*done)))


def make_folder(out: Path) -> None:
    from dragoman.durable import make_parents

    make_parents(out / "store")
    if (out / "model").exists() or any(out.glob("checkpoints/step-*")):
        raise UsageError(
            f"{out} contains a run already.",
            where=str(out),
            expected="a new folder, or one with an unfinished preparation",
            hint=f"Choose another -o, or resume the run: {shlex.join(['dragoman', 'train', '-o', str(out)])}",
        )


def plan_in_turn(config: Config, out: Path) -> DataPlan:
    """Plan when no other part does: the first one learns the vocabulary, the others find it."""
    from dragoman.training.state.lock import InUse, locked, wait_until_free

    make_folder(out)
    while True:
        try:
            with locked(out):
                return planned(config, out)
        except InUse:
            wait_until_free(out)


def planned(config: Config, out: Path) -> DataPlan:
    from dragoman.config.dump import to_toml
    from dragoman.config.paths import from_folder
    from dragoman.data.build import plan_data
    from dragoman.durable import write_file
    from dragoman.tasks.examples import build_examples
    from dragoman.training.init_from import initial_vocabulary

    plan = plan_data(
        config.data_of_run,
        config.text,
        out / "store",
        examples=build_examples(config),
        vocabulary=initial_vocabulary(config.training),
    )
    write_file(out / "settings.toml", to_toml(from_folder(config, out)))
    return plan


def summary(data: TrainingData, out: Path) -> list[str]:
    from dragoman.cli.format import format_count, plural
    from dragoman.cli.training_view.preparation import left_out

    facts = data.facts()
    tokens = f"{format_count(facts['tgt_tokens'])} target tokens"
    watched = plural(facts["watched"], "validation pair")
    lines = [f"Prepared {plural(facts['pairs'], 'pair')} · {tokens} · {watched}"]
    if facts["leaked"]:
        leaked = f"{facts['leaked']:,} of the {watched}"
        lines.append(f"! {leaked} are also in the training data: scores on them will be too high")
    if lost := left_out(facts):
        lines.append(f"Left out: {' · '.join(lost)}")
    return [*lines, f"Next: {shlex.join(['dragoman', 'train', '-o', str(out)])}"]
