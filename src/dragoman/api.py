"""The Python API: the verbs `train`, `run` and `score` as functions."""

from __future__ import annotations

import re
import shlex
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from dragoman.arguments import known_keywords, path_of, paths_of, text_of, wrong_type
from dragoman.cli.training_view.finished_report import report_lines
from dragoman.cli.training_view.learning_curve import CurveWriter
from dragoman.cli.training_view.watcher import Watcher
from dragoman.config.load import check_path, is_begun, merge, nest
from dragoman.config.load import load as load_config
from dragoman.config.root import Config
from dragoman.config.training import IN_UPDATES
from dragoman.data.readers.open_pairs import corpora_of, open_pairs
from dragoman.data.text_lists import Texts, are_texts, write_texts
from dragoman.device import is_gpu
from dragoman.errors import DragomanError, UsageError
from dragoman.inference.model import Model
from dragoman.inference.model import load as load_translation
from dragoman.inference.quality.confidence import calibrate as fit_calibration
from dragoman.models.bundle import add_calibration
from dragoman.models.calibration import Calibration
from dragoman.tasks.load import TaskModel, load, score
from dragoman.training.events import Event, Listener
from dragoman.training.run import Run
from dragoman.training.signals import FINISH

__all__ = ["calibrate", "load", "resume", "score", "train"]

File = str | Path
Table = dict[str, Any]

KEYWORDS: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r"--force\b", "force=True"),
    (r"--more (\S+)", r'dragoman.resume(…, more="\1")'),
    (r"--finish\b", "dragoman.resume(…, finish=True)"),
    (r"--valid (\S+) (\S+)", r'valid=("\1", "\2")'),
    (r"(?<!\S)-o\b", "out="),
    (
        r"dragoman run ((?:'[^']*'|\"[^\"]*\"|\S)+)",
        lambda found: f"dragoman.load({shlex.split(found[1])[0]!r})",
    ),
    (r"dragoman train --help", "The settings page of the documentation has them all."),
)


@known_keywords()
def train(
    *data: File | Texts,
    out: File | None = None,
    valid: File | Sequence[File] | Sequence[Texts] | None = None,
    budget: str | None = None,
    config: File | None = None,
    settings: Mapping[str, Any] | None = None,
    listener: Listener | None = None,
    force: bool = False,
    progress: bool = True,
) -> Model | TaskModel:
    """Train on two aligned files, on files with both sides, or on a folder with a dragoman.toml.

    You get the trained model. An unfinished run in `out` is resumed.

    Two lists of texts, sources and targets, work in place of two files, also in `valid`. They are written to
    the run's folder, so it resumes without them. `settings` uses the names of the command line:
    ``{"model.preset": "rnn-small", "training.updates": 2000}``. ``"training.init_from"`` names a trained
    model to start from. `listener` is called with each event of the run; if it returns ``"stop"``, the run
    ends after the update, with a model. `progress=False` shows nothing on stderr.
    """
    file, base, home = sources(data, out, config)
    if valid is not None:
        base = merge(base, {"data": {"valid": {"files": names(valid, home)}}})
    if budget is not None:  # it replaces lengths in updates from a settings file
        base = merge(base, {"training": {**dict.fromkeys(IN_UPDATES), "budget": budget}})
    with in_python():
        base, resumed = merge(base, tree(settings)), None if force else home
        is_new = force or not is_begun(home)
        load = partial(load_config, file, base=base, elsewhere="dragoman.train", run=resumed, is_new=is_new)
        chosen = load()
        if is_gpu(chosen.training.device, "training.device"):
            chosen = load(gpu=True)
    return trained(chosen, home, listener, progress, force=force)


@known_keywords()
def resume(
    out: File,
    *,
    more: str | int | None = None,
    finish: bool = False,
    listener: Listener | None = None,
    progress: bool = True,
) -> Model | TaskModel:
    """Resume the run in a folder with its own settings.

    `more`, a time such as ``"1h"`` or a number of updates, continues a finished run. `finish` turns an
    unfinished run into a model.
    """
    home = path_of(out, "out")
    with in_python():
        chosen = load_config(home / "settings.toml", elsewhere="dragoman.resume")
    more = str(more) if more is not None else None
    return trained(chosen, home, listener, progress, more=more, finish=finish)


def trained(
    config: Config, home: Path, listener: Listener | None, progress: bool, *, brief: bool = False, **how: Any
) -> Model | TaskModel:
    """Train and load the model; `how` is passed to `Run.train`."""
    if listener is not None and not callable(listener):
        raise wrong_type("listener", listener, "a function of one event", "listener=events.append")
    with in_python(), ExitStack() as stack:
        watcher = stack.enter_context(Watcher(config, home, brief=brief)) if progress else None
        listeners = [watcher or CurveWriter(config, home), *([asking(listener, home)] if listener else [])]
        run = Run(config, home, listeners, watcher.show_plan if watcher else lambda _: True)
        outcome = run.train(**how)
    if outcome.reason == "asked":
        if outcome.signal == signal.SIGTERM:
            signal.raise_signal(signal.SIGTERM)  # all is saved: run the caller's handler
        raise KeyboardInterrupt(f"saved at update {outcome.step}; the same call resumes it")
    for line in report_lines(config, home, outcome.seconds_left):
        if watcher and not brief:
            watcher.view.say([line])
    return load(home)


def asking(listener: Listener, home: Path) -> Listener:
    """Return the listener; if it returns "stop", the run is asked to finish."""

    def listen(event: Event) -> None:
        if listener(event) == "stop":
            (home / FINISH).touch()

    return listen


@known_keywords()
def calibrate(folder: File, *dev: File) -> Calibration:
    """Fit the confidence calibration on a development set and write it to the model folder."""
    model = load_translation(folder, runtime="torch")
    calibration = fit_calibration(model.translator, list(open_pairs(paths_of(dev, "dev"))))
    add_calibration(model.folder, calibration)
    return calibration


def sources(
    data: Sequence[File | Texts], out: File | None, config: File | None
) -> tuple[Path | None, Table, Path]:
    """Return the settings file, the settings that the arguments imply, and the run folder."""
    settings = None if config is None else path_of(config, "config")
    home = None if out is None else path_of(out, "out")
    if are_texts(data):
        if home is None:
            raise no_out("sources, targets, ")
        files = write_texts(data, home, "train")
    else:
        files = paths_of(data, "data")
    if len(files) == 1 and files[0].is_dir():
        return settings or files[0] / "dragoman.toml", {}, home or files[0]
    if home is None:
        raise no_out("".join(f"{str(file)!r}, " for file in files))
    corpora = [{"files": corpus} for corpus in corpora_of([str(file) for file in files])] if files else []
    return settings, {"data": {"train": corpora}} if files else {}, home


def no_out(data: str) -> UsageError:
    return UsageError(
        "No output folder was given.",
        where="dragoman.train",
        expected="out=, the run folder",
        hint=f'dragoman.train({data}out="my-model")',
    )


def names(valid: File | Sequence[File] | Sequence[Texts], home: Path) -> list[str]:
    several = valid if isinstance(valid, list | tuple) else [valid]
    files = write_texts(several, home, "valid") if are_texts(several) else paths_of(several, "valid")
    return [str(file) for file in files]


def tree(settings: Mapping[str, Any] | None) -> Table:
    """Nest settings, {"training.updates": 30} → {"training": {"updates": 30}}, and check their names."""
    if not isinstance(settings, Mapping | None):
        raise wrong_type("settings", settings, "a dict", 'settings={"training.updates": 2000}')
    table: Table = {}
    for name, value in (settings or {}).items():
        path = tuple(text_of(name, "a name in settings").split("."))
        check_path(path, f"{name}={value}", f"settings[{name!r}]")
        table = merge(table, nest(path, value))
    return table


@contextmanager
def in_python() -> Iterator[None]:
    """Replace command-line options in the hints of errors by Python keywords."""
    try:
        yield
    except DragomanError as error:
        for option, keyword in KEYWORDS:
            error.hint = re.sub(option, keyword, error.hint)
        raise
