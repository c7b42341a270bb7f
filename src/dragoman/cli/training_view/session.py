"""One session of `dragoman train`: show the plan, the progress and the result."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from dragoman.allocator import keep_freed_memory
from dragoman.cli.format import clock
from dragoman.cli.next_commands import to_run
from dragoman.cli.terminal import can_answer, countdown, give, typed
from dragoman.cli.training_view.finished_report import report_lines
from dragoman.cli.training_view.watcher import Watcher
from dragoman.config.root import Config
from dragoman.training.events import Listener, line_of
from dragoman.training.pace import Clock
from dragoman.training.parallel import Ranks
from dragoman.training.plan import Plan
from dragoman.training.run import Run, RunResult
from dragoman.training.signals import FINISH
from dragoman.training.state import checkpoint, resume
from dragoman.training.state.lock import InUse, wait_until_free
from dragoman.training.trackers.build import TRACKERS, open_tracker


class Session:
    def __init__(self, args: argparse.Namespace, config: Config, out: Path) -> None:
        self.args, self.config, self.out = args, config, out
        self.watcher = Watcher(config, out, plain=args.json)

    def run(self) -> int:
        if self.args.plan and not self.args.force and self._report_unfinished():
            return 0
        keep_freed_memory()
        try:
            with ExitStack() as stack:
                stack.enter_context(self.watcher)
                clock = Clock(self.args.started)
                run = Run(self.config, self.out, self._listeners(stack), self.confirm, clock)
                outcome = run.train(force=self.args.force, more=self.args.more, finish=self.args.finish)
        except InUse as in_use:
            if not self.args.finish:
                raise
            return self._ask_to_finish(in_use)
        except KeyboardInterrupt:
            self._report_interrupted()
            return 128 + signal.SIGINT
        return self._end(outcome)

    def _ask_to_finish(self, in_use: InUse) -> int:
        """Ask the process that trains here to finish, and wait until it has written the model."""
        (self.out / FINISH).touch()
        self._say(f"{in_use.who} was asked to finish: it will validate and write the model.")
        wait_until_free(self.out)
        self._say(f"Next: {to_run(self.config, str(self.out))}")
        return 0

    def confirm(self, plan: Plan) -> bool:
        if self.args.json:
            facts = {**asdict(plan), "seconds": plan.seconds, "range": plan.range, "out": str(self.out)}
            write_json({"event": "plan", **facts})
        self.watcher.show_plan(plan)
        if self.args.plan:
            return False
        return self.args.yes or self.args.json or not can_answer() or countdown()

    def _listeners(self, stack: ExitStack) -> list[Listener]:
        listeners: list[Listener] = [self.watcher]
        if self.args.json:
            listeners.append(write_json)
        for name in [name for name in TRACKERS if getattr(self.args, name)]:
            tracker = open_tracker(name, self.out, self.config, self._say)
            stack.callback(tracker.close)
            listeners.append(tracker)
        return listeners

    def _end(self, outcome: RunResult) -> int:
        if outcome.reason not in ("planned", "asked"):
            for line in report_lines(self.config, self.out, outcome.seconds_left):
                self._say(line)
        if outcome.reason == "planned":
            self._say(f"The prepared data are kept in {self.out / 'store'}.")
            self._say("Nothing is trained yet.")
            self._say(f"Next: {self._command('--plan')}")
        if outcome.reason == "asked":
            self._say(f"Saved at update {outcome.step:,}. To resume:  {self._command('--force')}")
            self._say(f"To write its model now:  {self._finishing()}")
            return 128 + (outcome.signal or signal.SIGTERM)
        return 0

    def _report_unfinished(self) -> bool:
        begun = None if (self.out / "model").exists() else resume.find(self.out / "checkpoints", Ranks())
        if begun is None:
            return False
        state = begun.progress
        each, length = state.seconds / max(state.step, 1), resume.length_of(state)
        last = length.forecast(state.step, state.seconds, each)
        left = clock((last - state.step) * each)
        self._say(f"An unfinished run is at update {state.step:,} of {last:,}, with about {left} left.")
        self._say(f"Next: {self._command('--plan')}")
        return True

    def _report_interrupted(self) -> None:
        folders = checkpoint.checkpoints_of(self.out / "checkpoints")
        if folders:
            step = int(folders[-1].name.removeprefix("step-"))
            self._say(
                f"Stopped immediately; update {step:,} is saved. To resume:  {self._command('--force')}"
            )
        else:
            self._say(f"Stopped before anything was trained. To start:  {self._command()}")

    def _command(self, *without: str) -> str:
        """Return the typed command without the options not to repeat; or the shortest equivalent."""
        return typed("train", without) or shlex.join(["dragoman", "train", "-o", str(self.out)])

    def _finishing(self) -> str:
        return shlex.join(["dragoman", "train", "-o", str(self.out), "--finish"])

    def _say(self, line: str) -> None:
        if os.environ.get("RANK", "0") == "0":
            self.watcher.view.say([line])


def write_json(event: Mapping[str, object]) -> None:
    try:
        give(line_of(event))
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of the pipe is gone: no reason to stop training
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
