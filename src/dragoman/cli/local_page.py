"""The page of `dragoman show MODEL --open`: serve it to this machine until Ctrl-C, and open the browser."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.cli.terminal import say, talk
from dragoman.errors import UsageError

if TYPE_CHECKING:
    from dragoman.serving.what_if import NamedModel


def serve_page(paths: Sequence[str], text: str, beam: int | None, overrides: Sequence[str]) -> None:
    """Serve a page with these models side by side, which begins with a text."""
    from dragoman.serving.local_server import LocalServer
    from dragoman.serving.what_if import Workbench

    models = [named_model(path, beam, overrides) for path in paths]
    with LocalServer(Workbench(models, text or example(paths[0]))) as server:
        say(server.url)
        sys.stdout.flush()
        talk("Only this machine, and only with this address. Ctrl-C ends it.")
        if has_display():
            webbrowser.open(server.url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            talk("Ended.")


def named_model(path: str, beam: int | None, overrides: Sequence[str]) -> NamedModel:
    from dragoman.cli.verbs.run import open_model
    from dragoman.config.load import with_changes, with_overrides
    from dragoman.inference.model import Model
    from dragoman.serving.what_if import NamedModel

    model = open_model(path, "torch")
    if not isinstance(model, Model):
        raise UsageError(
            "The page is for models that translate text.",
            where=path,
            expected='task = "translate", from text to text',
            hint=f"dragoman show {path} TEXT -o picture.html shows what this model does.",
        )
    search = with_overrides(model.runtime.search, overrides)
    if beam is not None:
        search = with_changes(search, {"kind": "beam", "size": beam})
    return NamedModel(Path(path).name or path, model, search)


def example(path: str) -> str:
    """Return the source that the last validation of a run has shown; "" if there is no record of it."""
    from dragoman.inference.find_model import find_model
    from dragoman.training.progress import recorded_progress

    return recorded_progress(find_model(Path(path)).parent).sample.get("src", "")


def has_display() -> bool:
    """Return whether a browser can have a window. Without one, `webbrowser` would run one in the terminal."""
    return sys.platform in ("darwin", "win32") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
