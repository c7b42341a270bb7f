"""The view of a run on a terminal, updated in place."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.control import Control
from rich.live import Live
from rich.segment import ControlType
from rich.spinner import Spinner
from rich.text import Text

from dragoman.cli.terminal import columns, printable
from dragoman.cli.training_view.dashboard import Dashboard
from dragoman.cli.training_view.preparation import (
    PreparationView,
    not_iob2,
    out_of_memory,
    resumed,
    shared_store,
    slow,
    unlocked,
    unsaved,
)
from dragoman.cli.wrapping import shortened, wrapped
from dragoman.training.events import Event

REFRESHES = 2  # per second


class Steady(Live):
    """A Live that handles resizing: a terminal rewraps old lines, so they are cleared first."""

    def __init__(self, renderable: Any, console: Console, **options: Any) -> None:
        self._size = console.size
        super().__init__(renderable, console=console, refresh_per_second=REFRESHES, **options)

    def refresh(self) -> None:
        if self.console.size != self._size:
            self._size = self.console.size
            self.console.control(Control(ControlType.HOME, ControlType.CLEAR))
        super().refresh()


class Status:
    """A spinner with the current activity."""

    def __init__(self, preparing: PreparationView) -> None:
        self._preparing = preparing
        self._spinner = Spinner("dots", style="cyan")

    def __rich__(self) -> Spinner:
        self._spinner.update(
            text=Text(shortened(self._preparing.text, columns() - 3), no_wrap=True, overflow="ellipsis")
        )
        return self._spinner


class LiveView:
    def __init__(self, frame: Dashboard, *, gone: bool = False) -> None:
        """`gone` removes the display at the end."""
        self._gone = gone
        self._console = Console(stderr=True, highlight=False)
        self._frame = frame
        self._preparing = PreparationView()
        self._live: Steady | None = None

    def __enter__(self) -> LiveView:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def __call__(self, event: Event) -> None:
        self._preparing(event)
        self._frame.progress(event)
        match event["event"]:
            case "out_of_memory":
                self.say(out_of_memory(event))
            case "not_iob2":
                self.say(not_iob2())
            case "unlocked":
                self.say(unlocked(event))
            case "shared_store":
                self.say(shared_store())
            case "unsaved":
                self._print(unsaved(event))  # above the display
            case "slow":
                self._print(slow(event))
            case "reading" | "timing":
                self._show(Status(self._preparing), transient=True)
            case "start" | "resume":
                self.say(resumed(event))
                self._show(self._frame, transient=self._gone)
            case "finished" | "stopped":
                self._stop()

    def say(self, lines: Iterable[str]) -> None:
        self._stop()
        self._print(lines)

    def _print(self, lines: Iterable[str]) -> None:
        with suppress(OSError):  # a closed terminal is no reason to stop training
            for line in lines:
                text = Text(wrapped(printable(line), self._console.width))
                text.highlight_regex(r"\A *! ", "yellow")
                self._console.print(text, soft_wrap=True)

    def _show(self, content: Any, *, transient: bool) -> None:
        self._stop()
        streams = {"redirect_stdout": False, "redirect_stderr": False}
        self._live = Steady(content, self._console, transient=transient, **streams)
        self._live.start(refresh=True)

    def _stop(self) -> None:
        live, self._live = self._live, None
        if live:
            with suppress(OSError):
                live.stop()
