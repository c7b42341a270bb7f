"""The output of a run on stderr: its plan, progress and summary."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from dragoman.cli.model_text import in_short
from dragoman.cli.terminal import is_watched, printable
from dragoman.cli.training_view import summary as ending
from dragoman.cli.training_view.learning_curve import write_curve
from dragoman.cli.training_view.log_lines import PlainView
from dragoman.cli.training_view.plan import describe
from dragoman.config.root import Config
from dragoman.training.events import Event, PreparedEvent
from dragoman.training.plan import Plan
from dragoman.training.progress import RunProgress

if TYPE_CHECKING:
    from dragoman.cli.training_view.live import LiveView


class Watcher:
    """A listener that shows a run on stderr: as a live display in a terminal, otherwise as log lines."""

    def __init__(self, config: Config, out: Path, *, plain: bool = False, brief: bool = False) -> None:
        """`brief` shows the progress, without the plan and the summary."""
        self.config, self.out, self._brief = config, out, brief
        self.progress = RunProgress()
        self.view = self._view(plain)
        self._prepared: PreparedEvent | None = None
        self._planned: float | None = None
        self._stack = ExitStack()

    def _view(self, plain: bool) -> LiveView | PlainView:
        if plain or not is_watched():
            return PlainView(self.progress)
        # These import rich, which draws from the caller's random numbers.
        from dragoman.cli.training_view.dashboard import Dashboard
        from dragoman.cli.training_view.live import LiveView

        name = printable(self.out.absolute().name)
        metric = self.config.training.valid_metric
        return LiveView(Dashboard(self.progress, name, in_short(self.config.model), metric), gone=self._brief)

    def __enter__(self) -> Watcher:
        self._stack.enter_context(self.view)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def __call__(self, event: Event) -> None:
        self.view(event)
        if event["event"] == "prepared":
            self._prepared = event
        elif event["event"] == "finished":
            write_curve(self.progress, self.config, self.out)
            if not self._brief:
                seconds = self.progress.elapsed
                self.view.say(ending.finished(event, seconds, self._planned, self.config, self.out))

    def show_plan(self, plan: Plan) -> bool:
        """Show the plan and return True: the run is never refused here."""
        self._planned = plan.seconds
        if self._brief or self._prepared is None:
            return True
        self.view.say(describe(plan, self.config, self.out, self._prepared))
        return True
