"""`dragoman new` makes a folder that the other verbs take."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.config.load import load
from dragoman.data.recipes.build import RECIPES


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_no_name_lists_every_recipe(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new"]) == 0
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.strip().split("\n")] == list(RECIPES)


@pytest.mark.parametrize("name", RECIPES)
def test_recipe_makes_data_settings_and_a_page(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", name]) == 0
    captured = capsys.readouterr()
    files = {"train.tsv", "valid.tsv", "test.tsv", "dragoman.toml", "README.md"}
    assert {file.name for file in Path(name).iterdir()} == files
    assert set(captured.out.split()) == {f"{name}/{file}" for file in files}
    assert captured.err.strip().endswith(f"Next: dragoman train {name}")
    assert "FOLDER" not in Path(name, "README.md").read_text(encoding="utf-8")
    assert f"dragoman train {name}" in Path(name, "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", RECIPES)
def test_settings_of_a_recipe_are_valid_and_name_its_files(name: str) -> None:
    main(["new", name])
    config = load(Path(name, "dragoman.toml"))
    corpora = [*config.data.train, config.data.valid, config.data.test]
    assert all(corpus and Path(corpus.files[0]).exists() for corpus in corpora)


@pytest.mark.parametrize("name", RECIPES)
def test_every_line_is_one_pair_and_files_are_the_same_each_time(name: str) -> None:
    main(["new", name, "-o", "one"])
    main(["new", name, "-o", "two"])
    for split in ("train", "valid", "test"):
        data = Path("one", f"{split}.tsv").read_bytes()
        assert data == Path("two", f"{split}.tsv").read_bytes()
        lines = data.decode("utf-8").removesuffix("\n").split("\n")
        assert all(line.count("\t") == 1 and all(line.split("\t")) for line in lines)


def test_folder_that_is_not_empty_is_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine").mkdir()
    Path("mine", "train.tsv").write_text("precious")
    assert main(["new", "reverse", "-o", "mine"]) == 2
    assert "--force" in capsys.readouterr().err
    assert Path("mine", "train.tsv").read_text() == "precious"
    assert main(["new", "reverse", "-o", "mine", "--force"]) == 0
    assert Path("mine", "train.tsv").read_text() != "precious"


def test_file_of_that_name_is_left_alone() -> None:
    Path("dates").write_text("precious")
    assert main(["new", "dates", "--force"]) == 2
    assert Path("dates").read_text() == "precious"


def test_folder_with_a_blank_is_quoted_in_the_next_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "reverse", "-o", "my words"]) == 0
    assert "dragoman train 'my words'" in capsys.readouterr().err


def test_unknown_recipe_is_told_the_near_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "date"]) == 2
    assert "Did you mean dates?" in capsys.readouterr().err
