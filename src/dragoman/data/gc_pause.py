"""Reading and encoding make no cycles of references, so nothing is gained by looking for some.

Python does so after every few hundred new lists or tuples; among millions of lines and ids that took about a
fifth of the time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """No search for cycles meanwhile; what nothing refers to is freed as ever."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
