"""A damaged or hostile model folder is refused, the file is named, and no code of it runs."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path

import pytest

from hostile.audit import Audit
from hostile.folders import KINDS, Corruption, corruptions, good_folder, with_no_number
from hostile.verbs import drive, spread

SAMPLE = 48


@cache
def audit() -> Audit:
    return Audit()


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("good")
    # After that, all that it needs is imported, and the checks of shapes are compiled.
    for kind in KINDS:
        assert drive("check", str(good_folder(home / kind, kind))).code == 0
    bare = shutil.copytree(home / kind, home / "bare")
    (bare / "weights.safetensors").unlink()
    assert drive("check", str(bare)).code != 0
    return home


def damaged(good: Path, folder: Path, corruption: Corruption) -> Path:
    shutil.copytree(good / corruption.kind, folder)
    corruption.apply(folder)
    return folder


def cases() -> list[Corruption]:
    return spread(corruptions(), SAMPLE)


@pytest.mark.parametrize("corruption", cases(), ids=lambda corruption: corruption.name)
def test_a_corrupted_folder_is_refused_by_the_name_of_the_file(
    corruption: Corruption, good: Path, tmp_path: Path
) -> None:
    folder = damaged(good, tmp_path / "model", corruption)
    with audit().listening() as seen:
        driven = drive("check", str(folder))
    assert driven.code in (1, 2), driven.err + driven.out.decode()
    assert "Traceback" not in driven.err
    assert "bug in Dragoman" not in driven.err
    assert "memory" not in driven.err
    assert Path(corruption.blames).name in driven.err
    assert not seen
    assert not Path("boom").exists()


@pytest.mark.parametrize("verb", [("check",), ("run", "a b"), ("run", "a b", "search.kind=greedy", "--json")])
def test_weights_that_are_not_finite_are_named(good: Path, tmp_path: Path, verb: tuple[str, ...]) -> None:
    folder = damaged(good, tmp_path / "model", Corruption("nan", "word", with_no_number))
    driven = drive(verb[0], str(folder), *verb[1:])
    assert driven.code == 1
    assert "The weights hold NaN or infinity, in " in driven.err
    assert "weights.safetensors" in driven.err
    assert not driven.out


def test_the_audit_hears_code(tmp_path: Path) -> None:
    with audit().listening() as seen:
        exec("x = 1")
    assert any(event.startswith("exec") for event in seen)


def test_there_are_three_hundred() -> None:
    assert len(corruptions()) >= 300
    assert len({corruption.name for corruption in corruptions()}) == len(corruptions())
