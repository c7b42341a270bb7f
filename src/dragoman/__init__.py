"""Dragoman: the trainer for sequence-to-sequence models you own.

import dragoman as dg
model = dg.train("train.en", "train.de", out="en-de", budget="30m")
model = dg.load("en-de")
model("A man is riding a bicycle.").text
dg.score(model, "test.en", "test.de")
dg.resume("en-de", more="1h")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dragoman.errors import needs_extra

if TYPE_CHECKING:
    from dragoman.api import calibrate, load, resume, score, train
    from dragoman.reports.compare import compare
    from dragoman.reports.gather import report

__version__ = "0.1.0"
__all__ = ["calibrate", "compare", "load", "report", "resume", "score", "train"]

LIGHT = {
    "compare": "dragoman.reports.compare",
    "load": "dragoman.tasks.load",
    "report": "dragoman.reports.gather",
    "score": "dragoman.tasks.load",
}


def __getattr__(name: str) -> Any:
    """Import public functions on first access, so that `import dragoman` alone does not import torch."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    what = f"dragoman.{name} needs PyTorch, which is not installed."
    with needs_extra(what, "train", "torch", "jaxtyping"):
        home = import_module(LIGHT.get(name, "dragoman.api"))
    return getattr(home, name)


def __dir__() -> list[str]:
    """Return the names that completion offers."""
    return sorted([*__all__, "errors", *(name for name in globals() if name.startswith("__"))])
