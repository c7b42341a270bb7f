"""Location of the model: a run folder, its model/, or a project folder."""

from __future__ import annotations

from pathlib import Path

from dragoman.errors import ModelError
from dragoman.manifest import MANIFEST
from dragoman.models.folder import SETTINGS, TEXT, WEIGHTS
from dragoman.spelling import closest_path, did_you_mean

PARTS = (MANIFEST, WEIGHTS, SETTINGS, TEXT)


def find_model(path: str | Path) -> Path:
    """Return the folder with the weights: `path` itself or its model/."""
    folder = Path(path)
    if not folder.is_dir():
        raise _no_folder(folder)
    for place in (folder, folder / "model"):
        if any((place / part).is_file() for part in PARTS[:2]):
            return place
    raise _no_model(folder)


def _no_folder(folder: Path) -> ModelError:
    if folder.exists():
        return ModelError(
            "This is a file, not a model folder.",
            where=str(folder),
            expected="the folder that dragoman train -o wrote",
            hint=f"dragoman run {folder.parent}" if folder.name in PARTS else "dragoman run FOLDER TEXT",
        )
    near = _near(folder)
    return ModelError(
        "There is no such folder." + did_you_mean(near),
        where=str(folder),
        expected="the folder of a trained model",
        hint=f"dragoman run {near}" if near else f"dragoman train train.src train.tgt -o {folder}",
    )


def _near(folder: Path) -> Path | None:
    if not folder.parent.is_dir():
        return None
    return closest_path(folder, is_folder=True)


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
