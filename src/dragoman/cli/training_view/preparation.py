"""Progress before the first update, as one line that is updated."""

from __future__ import annotations

import time
from collections.abc import Callable

from dragoman.cli.check_text import passed_over
from dragoman.cli.format import plural
from dragoman.cli.terminal import printable
from dragoman.data.build import DataFacts
from dragoman.training.events import Event, StartEvent, UnlockedEvent, UnsavedEvent
from dragoman.training.pace import Slowness


class PreparationView:
    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._began = now()
        self._corpus = ""
        self.text = ""

    def __call__(self, event: Event) -> None:
        match event["event"]:
            case "reading":
                self.text = "Reading the data, learning a vocabulary"
            case "prepare":
                self.text = self._pairs(event["corpus"], event["pairs"])
            case "timing":
                self.text = "Timing a few updates on this machine"
        if event["event"] != "prepare":
            self._began = self._now()

    def _pairs(self, corpus: str, pairs: int) -> str:
        if corpus != self._corpus and self._corpus:
            self._began = self._now()
        self._corpus = corpus
        seconds = self._now() - self._began
        rate = f"   {pairs / seconds:,.0f} pairs/s" if seconds > 1 else ""
        return f"Preparing {printable(corpus)}   {pairs:,} pairs{rate}"


def left_out(event: DataFacts) -> list[str]:
    """Describe the pairs left out, from the event that ends the preparation."""
    counts = event["counts"]
    reasons = {
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
        received = f"it gets {event['had']:.0%} of the processor time it asks for"
        return [f"{prefix} {received}. Other processes use the {cores}{load}."]
    if event["threads"] > 1:
        return [f"{prefix} its {event['threads']} threads wait for each other. Try training.threads=1."]
    return [f"{prefix} the machine has become slower, or its memory is used by others."]


def unlocked(event: UnlockedEvent) -> list[str]:
    return [f"The file system of {event['out']} has no locks: make sure that no other run is started there."]
