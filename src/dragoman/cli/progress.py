"""What a person sees while a model trains: a view of the run's events."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dragoman.training.plan import Plan

Event = dict[str, Any]


def show_events(event: Event) -> None:
    sys.stdout.write(json.dumps(event, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def view(out: Path) -> Callable[[Event], None]:
    def line(event: Event) -> None:
        if event["event"] != "step" or event["step"] % 50 == 0:
            sys.stderr.write(json.dumps(event, ensure_ascii=False) + "\n")
            sys.stderr.flush()

    return line


def ask(plan: Plan, out: Path, *, yes: bool, stop: bool) -> bool:
    sys.stderr.write(f"{plan}\n")
    return not stop
