"""Location of the model: a run folder, its model/, or a project folder."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from dragoman.errors import ModelError
from dragoman.manifest import MANIFEST
from dragoman.models.folder import SETTINGS, TEXT, WEIGHTS
from dragoman.spelling import closest, closest_path, did_you_mean, some

PARTS = (MANIFEST, WEIGHTS, SETTINGS, TEXT)


def find_model(path: str | Path) -> Path:
    """Return the folder with the weights: `path` itself or its model/."""
    folder = Path(path)
    if not folder.is_dir():
        raise _no_folder(folder)
    if place := _place(folder):
        return place
    raise _no_model(folder)


def _place(folder: Path) -> Path | None:
    places = (folder, folder / "model")
    return next((p for p in places if any((p / part).is_file() for part in PARTS[:2])), None)


def _no_folder(folder: Path) -> ModelError:
    if folder.exists():
        return ModelError(
            "This is a file, not a model folder.",
            where=str(folder),
            expected="the folder that dragoman train -o wrote",
            hint=f"dragoman run {folder.parent}" if folder.name in PARTS else "dragoman run FOLDER TEXT",
        )
    models = _models_in(folder.parent)
    near = closest(folder.name, [Path(name).name for name in models])
    others = closest_path(folder, is_folder=True) if folder.parent.is_dir() else None
    train = f"dragoman train train.src train.tgt -o {folder}"
    return ModelError(
        "There is no such folder." + did_you_mean(folder.with_name(near) if near else others),
        where=str(folder),
        expected="the folder of a trained model",
        hint=f"Name one of these models: {some(models)}." if models else f"Train one first: {train}",
    )


def _models_in(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.iterdir() if _has_model(path)) if folder.is_dir() else []


def _has_model(path: Path) -> bool:
    with suppress(PermissionError):  # a folder of somebody else, as there are in /tmp
        return path.is_dir() and _place(path) is not None
    return False


def _no_model(folder: Path) -> ModelError:
    is_project = (folder / "dragoman.toml").is_file()
    again = f"dragoman train {folder}" if is_project else f"dragoman train -o {folder}"
    if _has_entries(folder / "checkpoints"):
        return ModelError(
            "The training of this model is not finished: there are checkpoints, but no model yet.",
            where=str(folder),
            expected=str(folder / "model" / WEIGHTS),
            hint=f"{again} resumes it; with --finish, it writes the model as it is now.",
        )
    if is_project:
        return ModelError(
            "This project has not been trained yet.",
            where=str(folder),
            expected=str(folder / "model" / WEIGHTS),
            hint=again,
        )
    return ModelError(
        "There is no model in this folder.",
        where=str(folder),
        expected=f"{', '.join(PARTS)} in it or in its model/",
        hint="Give the folder that dragoman train -o wrote.",
    )


def _has_entries(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())
