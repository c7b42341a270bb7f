"""Suggestions for misspelt names, and what is said about files and packages that are not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.errors import MissingExtra, needs_extra
from dragoman.spelling import closest, closest_path, did_you_mean, missing_file_hint


def test_the_closest_name_is_suggested_or_none() -> None:
    assert closest("trian", ["train", "run", "score"]) == "train"
    assert closest("xyz", ["train", "run", "score"]) is None
    assert (did_you_mean("train"), did_you_mean(None)) == (' Did you mean "train"?', "")


def test_a_missing_file_has_a_hint_for_each_case(tmp_path: Path) -> None:
    (tmp_path / "train.en").touch()
    (tmp_path / "broken").symlink_to(tmp_path / "gone")
    assert missing_file_hint(tmp_path / "trian.en") == f'Did you mean "{tmp_path}/train.en"?'
    assert missing_file_hint(tmp_path / "xyz") == f"Name one of the files in {tmp_path}: train.en."
    (tmp_path / "train.en").unlink()
    assert missing_file_hint(tmp_path / "xyz") == f"There are no files in {tmp_path}."
    assert "It is a link" in missing_file_hint(tmp_path / "broken")
    assert "does not exist either" in missing_file_hint(tmp_path / "none" / "train.en")


def test_only_folders_are_suggested_for_a_folder(tmp_path: Path) -> None:
    (tmp_path / "en-de.txt").touch()
    (tmp_path / "en-de-small").mkdir()
    assert closest_path(tmp_path / "en-de-smal", is_folder=True) == tmp_path / "en-de-small"
    assert closest_path(tmp_path / "en-de.tx", is_folder=True) in (None, tmp_path / "en-de-small")


def test_a_package_that_is_not_installed_is_a_missing_extra_with_the_command() -> None:
    with pytest.raises(MissingExtra) as caught, needs_extra("This needs it.", "extra"):
        import no_such_package  # noqa: F401
    assert caught.value.where == "No module named 'no_such_package'"
    assert caught.value.hint == 'pip install "dragoman[extra]"'


def test_a_package_that_no_extra_brings_is_not_called_one() -> None:
    with pytest.raises(ModuleNotFoundError), needs_extra("This needs PyTorch.", "train", "torch"):
        import no_such_package  # noqa: F401


def test_a_module_of_our_own_that_is_missing_is_a_bug_not_an_extra() -> None:
    with pytest.raises(ImportError), needs_extra("This needs it.", "extra"):
        import dragoman.no_such_module  # noqa: F401
