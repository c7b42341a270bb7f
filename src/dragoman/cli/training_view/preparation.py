"""What happens before the first update, in one line that changes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from dragoman.cli.check_text import passed_over
from dragoman.cli.format import plural
from dragoman.cli.terminal import printable

Event = dict[str, Any]


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


def left_out(event: Event) -> list[str]:
    """What the data lost on the way, from the event that ends the preparation."""
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


def resumed(event: Event) -> list[str]:
    if not event["step"]:
        return []
    place = f"{event['step']:,} of {event['updates']:,}"
    return [f"Resuming an unfinished run at update {place}.", *event["notes"]]


def unsaved(event: Event) -> list[str]:
    needs = (
        f" ({event['where']}; it needs {event['expected']})"
        if event.get("expected")
        else f" ({event['where']})"
    )
    return [f"Not saved: {event['what'].rstrip('.')}{needs}.{tried_again(event)}"]


def tried_again(event: Event) -> str:
    """Checkpoints are; by the clock no update can be named."""
    if "again" not in event:
        return ""
    return (
        f" Tried again at update {event['again']:,}."
        if event["again"]
        else " The next checkpoint tries again."
    )


def slow(event: Event) -> list[str]:
    """Why updates take several times what was planned."""
    times = f"{event['seconds'] / event['planned']:.1f} times the planned {event['planned']:.2g} s"
    said = f"An update takes {event['seconds']:.2g} s, {times}:"
    if event["others"]:
        load = f" (load {event['load']:g})" if event["load"] is not None else ""
        cores = plural(event["cores"], "core")
        had = f"it gets {event['had']:.0%} of the processor time it asks for"
        return [f"{said} {had}. Other processes use the {cores}{load}."]
    if event["threads"] > 1:
        return [f"{said} its {event['threads']} threads wait for each other. Try training.threads=1."]
    return [f"{said} the machine has become slower, or its memory is used by others."]


def unlocked(event: Event) -> list[str]:
    return [
        f"There are no locks on the disk of {event['out']}: see to it that no other run is started there."
    ]
