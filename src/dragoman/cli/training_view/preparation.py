"""Progress before the first update, as one line that is updated."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType

from dragoman.cli.check_text import passed_over
from dragoman.cli.format import duration, plural
from dragoman.cli.terminal import LiveLine, printable, talk
from dragoman.data.build import DataFacts
from dragoman.training.events import (
    Event,
    OutOfMemoryEvent,
    PrepareEvent,
    StartEvent,
    UnlockedEvent,
    UnsavedEvent,
)
from dragoman.training.pace import Slowness

EVERY = 60.0  # seconds


class PreparationView:
    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._began: float | None = None  # when the first pair was prepared
        self.text = ""

    def __call__(self, event: Event) -> None:
        match event["event"]:
            case "reading":
                self.text = "Reading the data, preparing the vocabulary"
            case "prepare":
                self.text = self._pairs(event)
            case "timing":
                self.text = "Timing a few updates on this machine"

    def _pairs(self, event: PrepareEvent) -> str:
        self._began = self._began or self._now()
        pairs, total, seconds = event["pairs"], event["total"], self._now() - self._began
        shown = [f"Preparing {printable(event['corpus'])}", f"{pairs:,} of {total:,} pairs"]
        if seconds > 1 and (rate := (pairs - event["found"]) / seconds):
            shown += [f"{rate:,.0f} pairs/s", f"{duration((total - pairs) / rate)} left"]
        return "   ".join(shown)


class PreparationLine:
    """The progress on stderr: one line that is updated in a terminal, otherwise a line per minute."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now, self._last = now, now()
        self._view, self._line = PreparationView(now), LiveLine()

    def __enter__(self) -> PreparationLine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._line.__exit__(kind, error, trace)

    def __call__(self, event: Event) -> None:
        self._view(event)
        self._line.show(self._view.text)
        is_due = event["event"] != "prepare" or self._now() - self._last >= EVERY
        if is_due and not self._line.is_seen:
            self._last = self._now()
            talk(self._view.text)


def left_out(event: DataFacts) -> list[str]:
    """Describe the pairs left out, from the event that ends the preparation."""
    counts = event["counts"]
    reasons = {
        "skipped": f"{counts.get('skipped', 0):,} held out, or with a side of a held-out pair",
        "too_long": f"{counts.get('too_long', 0):,} too long",
        "empty": f"{counts.get('empty', 0):,} with an empty side",
    }
    lines = [text for reason, text in reasons.items() if counts.get(reason)]
    if event["passed"]:
        lines.append(passed_over(event["passed"]))
    if event["bad"]:
        lines.append(f"{plural(event['bad'], 'bad line')} skipped, the first {event['first_bad']}")
    return lines


def resumed(event: StartEvent) -> list[str]:
    if not event["step"]:
        return []
    place = f"{event['step']:,} of {event['updates']:,}"
    return [f"Resuming an unfinished run at update {place}.", *event["notes"]]


def unsaved(event: UnsavedEvent) -> list[str]:
    needs = (
        f" ({event['where']}; it needs {event['expected']})"
        if event.get("expected")
        else f" ({event['where']})"
    )
    return [f"Not saved: {event['what'].rstrip('.')}{needs}.{tried_again(event)}"]


def tried_again(event: UnsavedEvent) -> str:
    """Return when saving is tried again; no update is named if checkpoints are scheduled by time."""
    if "again" not in event:
        return ""
    return (
        f" Next attempt at update {event['again']:,}."
        if event["again"]
        else " Next attempt at the next checkpoint."
    )


def slow(event: Slowness) -> list[str]:
    """Explain why updates take several times longer than planned."""
    times = f"{event['seconds'] / event['planned']:.1f} times the planned {event['planned']:.2g} s"
    prefix = f"An update takes {event['seconds']:.2g} s, {times}:"
    if event["others"]:
        load = f" (load {event['load']:g})" if event["load"] is not None else ""
        cores = plural(event["cores"], "core")
        received = f"it gets {100 * event['had']:.0f} % of the processor time it asks for"
        return [f"{prefix} {received}. Other processes or virtual machines use the {cores}{load}."]
    if event["threads"] > 1:
        return [f"{prefix} its {event['threads']} threads wait for each other. Try training.threads=1."]
    return [f"{prefix} the machine has become slower, or its memory is used by others."]


def out_of_memory(event: OutOfMemoryEvent) -> list[str]:
    return [f"The device is out of memory. Next attempt: training.micro_batches={event['micro_batches']}."]


def not_iob2() -> list[str]:
    return ["The tags are not IOB2: I-x often begins a span. The model gets model.head.constraints=false."]


def unlocked(event: UnlockedEvent) -> list[str]:
    return [f"The file system of {event['out']} has no locks: make sure that no other run is started there."]


def shared_store() -> list[str]:
    return [
        "Restarts share one store, in which killed ranks leave keys: start torchrun with --rdzv-backend c10d "
        "and TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1."
    ]
