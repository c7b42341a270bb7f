"""`dragoman train`: two files, or a folder with a dragoman.toml, to a model folder."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from dragoman.cli.arguments import split_overrides
from dragoman.errors import MissingExtra, UsageError

HELP = """\
Plan, then train. An unfinished run in the same folder is gone on with.

  dragoman train train.en train.de --valid val.en val.de -o en-de
  dragoman train pairs.tsv -o mine --budget 30m
  dragoman train dates --yes
  dragoman train train.en train.de -o rnn model.preset=rnn-small training.updates=4000"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "data", nargs="+", help="two text files, one .tsv or .jsonl, or a folder; then settings"
    )
    parser.add_argument("--valid", nargs="+", metavar="FILE", help="pairs to watch (else some are held out)")
    parser.add_argument("-o", "--out", type=Path, metavar="DIR", help="the run's folder")
    parser.add_argument("-c", "--config", type=Path, metavar="FILE", help="a settings file (TOML)")
    parser.add_argument("--budget", metavar="TIME", help="train within 90s, 30m, 2h …")
    parser.add_argument("--yes", action="store_true", help="start without waiting")
    parser.add_argument("--plan", action="store_true", help="show the plan and stop")
    parser.add_argument("--force", action="store_true", help="forget a run that is there and start over")
    parser.add_argument(
        "--json", action="store_true", help="write the events to stdout, one JSON object a line"
    )


def run(args: argparse.Namespace) -> int:
    files, overrides = split_overrides(args.data)
    if args.budget:
        overrides.append(f"training.budget={args.budget}")
    settings, base, out = sources(files, args)
    from dragoman.config.load import load

    config = load(settings, overrides, base)
    try:
        from dragoman.training.run import Run
    except ModuleNotFoundError as error:
        raise MissingExtra(
            "Training needs PyTorch, which is not installed.",
            where=str(error),
            hint='pip install "dragoman[train]"',
        ) from None
    from dragoman.cli.progress import ask, show_events, view

    screen = show_events if args.json else view(out)
    outcome = Run(config, out, [screen], lambda plan: ask(plan, out, yes=args.yes, stop=args.plan)).train(
        force=args.force
    )
    if outcome.reason == "asked":
        command = (
            " ".join(["dragoman", "train", *sys.argv[2:]])
            if len(sys.argv) > 2
            else f"dragoman train -o {out}"
        )
        sys.stderr.write(f"Saved at update {outcome.step:,}. To go on:  {command}\n")
        return 128 + outcome.signal if outcome.signal else 1
    return 0


def sources(files: list[str], args: argparse.Namespace) -> tuple[Path | None, dict[str, Any] | None, Path]:
    """The settings file, what the command line implies, and the run's folder."""
    if len(files) == 1 and Path(files[0]).is_dir():
        folder = Path(files[0])
        settings = args.config or folder / "dragoman.toml"
        if not settings.is_file():
            raise UsageError(
                "This folder has no dragoman.toml.",
                where=str(folder),
                expected="a folder made by dragoman new, or data files",
                hint="dragoman new dates, or dragoman train train.src train.tgt -o NAME",
            )
        return settings, None, args.out or folder
    if args.out is None:
        raise UsageError(
            "Where should the model go?",
            where="the command line",
            expected="-o DIR",
            hint=f"dragoman train {' '.join(files)} -o my-model",
        )
    data: dict[str, Any] = {"train": [{"files": files}]} if files else {}
    if args.valid:
        data["valid"] = {"files": args.valid}
    return args.config, {"data": data}, args.out
