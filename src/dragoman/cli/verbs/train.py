"""`dragoman train`: train a model on two files, or on a folder with a dragoman.toml."""

from __future__ import annotations

import argparse

from dragoman.cli.options.overrides import add_data
from dragoman.errors import needs_extra

HELP = """\
Show the plan and how long it will take, then train. If the folder holds an unfinished run, resume it.

  dragoman train train.en train.de --valid val.en val.de -o en-de
  dragoman train pairs.tsv -o mine --budget 30m   finish in half an hour
  dragoman train dates --yes                      do not wait after the plan
  dragoman train train.en train.de -o rnn model.preset=rnn-small training.updates=4000
  dragoman train -o en-de                         resume the run in that folder
  dragoman train -o en-de --more 1h               train it further
  dragoman train -o en-de --finish                make a model of it now
  dragoman train new.en new.de --from en-de -o tuned  fine-tune a model"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = add_data(parser)
    add("--finish", action="store_true", help="write the model of a stopped or running run as it is now")
    add("--force", action="store_true", help="discard the run in that folder and start over")
    add = parser.add_argument_group("time").add_argument
    add("--budget", metavar="TIME", help="finish in 90s, 30m or 2h, reading and writing included")
    add("--more", metavar="TIME", help="train a finished run further: 30m, 2h, or updates such as 500")
    add("--plan", action="store_true", help="show the plan and stop")
    add("--yes", action="store_true", help="start at once, without the countdown")
    add = parser.add_argument_group("tracking").add_argument
    add("--tensorboard", action="store_true", help="also write DIR/tensorboard")
    add("--wandb", action="store_true", help="also log to Weights & Biases, as the WANDB_… variables say")
    add("--json", action="store_true", help="write the events to stdout, one JSON object per line")


def run(args: argparse.Namespace) -> int:
    from dragoman.cli.options.training_data import refuse_moved, resolve_inputs
    from dragoman.config.load import is_begun, load
    from dragoman.cores import use_passive_waiting

    use_passive_waiting()
    sources = resolve_inputs(args)
    resumed = None if args.force else sources.out
    is_new = args.force or not is_begun(sources.out)
    given = sources.settings, sources.overrides, sources.implied
    config = load(*given, run=resumed, is_new=is_new)
    if sources.settings == sources.out / "settings.toml":
        refuse_moved(config, sources.settings, sources.out)
    with needs_extra("Training needs PyTorch, which is not installed.", "train"):
        from dragoman.cli.training_view.session import Session
        from dragoman.device import is_gpu
    if is_gpu(config.training.device, "training.device"):
        config = load(*given, run=resumed, is_new=is_new, gpu=True)
    return Session(args, config, sources.out).run()
