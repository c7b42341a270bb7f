"""One sitting of `dragoman train`: the plan is shown, the run is watched, the end is told."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dragoman.cli import ending
from dragoman.cli.frame import Frame
from dragoman.cli.live import LiveView
from dragoman.cli.plain import PlainView
from dragoman.cli.plan_text import describe, in_short
from dragoman.cli.progress import Progress
from dragoman.cli.terminal import can_answer, countdown, give, is_watched, printable
from dragoman.cli.wording import clock
from dragoman.config.root import Config
from dragoman.errors import MissingExtra
from dragoman.memory import keep_freed_memory
from dragoman.training import checkpoint, resume
from dragoman.training.events import Listener, line_of
from dragoman.training.parallel import Ranks
from dragoman.training.plan import Plan
from dragoman.training.run import Outcome, Run

Event = dict[str, Any]


class Session:
    def __init__(self, args: argparse.Namespace, config: Config, out: Path) -> None:
        self.args, self.config, self.out = args, config, out
        self.progress = Progress()
        self.view = self._view()
        self.prepared: Event = {}
        self.planned: float | None = None

    def run(self) -> int:
        if self.args.plan and not self.args.force and self._tell_unfinished():
            return 0
        keep_freed_memory()
        try:
            with ExitStack() as stack:
                stack.enter_context(self.view)
                run = Run(self.config, self.out, self._listeners(stack), self.confirm)
                outcome = run.train(force=self.args.force)
        except KeyboardInterrupt:
            self._tell_interrupted()
            return 128 + signal.SIGINT
        return self._end(outcome)

    def listen(self, event: Event) -> None:
        if event["event"] == "prepared":
            self.prepared = event
        elif event["event"] == "finished":
            seconds = self.progress.elapsed
            self.view.say(ending.finished(event, seconds, self.planned, self.config, self.out))

    def confirm(self, plan: Plan) -> bool:
        self.planned = plan.seconds
        if self.args.json:
            facts = {**asdict(plan), "seconds": plan.seconds, "range": plan.range, "out": str(self.out)}
            write_json({"event": "plan", **facts})
        self.view.say(describe(plan, self.config, self.out, self.prepared))
        if self.args.plan:
            return False
        return self.args.yes or self.args.json or not can_answer() or countdown()

    def _view(self) -> LiveView | PlainView:
        if self.args.json or not is_watched():
            return PlainView(self.progress)
        name = printable(self.out.absolute().name)
        metric = self.config.training.valid_metric
        return LiveView(Frame(self.progress, name, in_short(self.config.model), metric))

    def _listeners(self, stack: ExitStack) -> list[Listener]:
        listeners: list[Listener] = [self.view, self.listen]
        if self.args.json:
            listeners.append(write_json)
        if self.args.tensorboard:
            try:
                from dragoman.training.board import Board
            except ImportError as error:
                raise MissingExtra(
                    "TensorBoard is not installed.", where=str(error), hint="pip install tensorboard"
                ) from None
            board = Board(self.out / "tensorboard")
            stack.callback(board.close)
            listeners.append(board)
        return listeners

    def _end(self, outcome: Outcome) -> int:
        if outcome.reason == "planned":
            self._say(f"Nothing is trained yet. Next: {self._command('--plan')}")
        if outcome.reason == "asked":
            self._say(f"Saved at update {outcome.step:,}. To go on:  {self._command('--force')}")
            return 128 + (outcome.signal or signal.SIGTERM)
        return 0

    def _tell_unfinished(self) -> bool:
        begun = None if (self.out / "model").exists() else resume.find(self.out / "checkpoints", Ranks())
        if begun is None:
            return False
        state = begun.progress
        left = (state.run["updates"] - state.step) * state.seconds / max(state.step, 1)
        place = f"{state.step:,} of {state.run['updates']:,}"
        self._say(f"An unfinished run is at update {place}, about {clock(left)} before its end.")
        self._say(f"Next: {self._command('--plan')}")
        return True

    def _tell_interrupted(self) -> None:
        folders = checkpoint.all_of(self.out / "checkpoints")
        if folders:
            step = int(folders[-1].name.removeprefix("step-"))
            self._say(f"Stopped at once; update {step:,} is saved. To go on:  {self._command('--force')}")
        else:
            self._say(f"Stopped before anything was trained. To begin:  {self._command()}")

    def _command(self, *without: str) -> str:
        """What was typed, without what must not be done again; or the shortest that does the same."""
        return typed(without) or shlex.join(["dragoman", "train", "-o", str(self.out)])

    def _say(self, line: str) -> None:
        if os.environ.get("RANK", "0") == "0":
            self.view.say([line])


def typed(without: tuple[str, ...]) -> str:
    """The command as a shell takes it again; nothing where this was not started by one."""
    words = [word for word in sys.argv[1:] if word not in without]
    is_ours = [word for word in words if word != "--debug"][:1] == ["train"]
    return shlex.join(["dragoman", *words]) if is_ours else ""


def write_json(event: Event) -> None:
    try:
        give(line_of(event))
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read along has left: no reason to stop training
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
