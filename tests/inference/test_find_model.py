"""Where a model is found, and what is said where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.errors import ModelError
from dragoman.inference.find_model import find_model


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    model = tmp_path / "en-de" / "model"
    model.mkdir(parents=True)
    (model / "MANIFEST.json").write_text("{}")
    (model / "weights.safetensors").write_bytes(b"")
    return tmp_path / "en-de"


def test_a_run_folder_and_its_model_folder_are_the_same(run_folder: Path) -> None:
    assert find_model(run_folder) == find_model(str(run_folder / "model")) == run_folder / "model"


def test_a_project_folder_is_found_by_its_model(run_folder: Path) -> None:
    (run_folder / "dragoman.toml").write_text("")
    assert find_model(run_folder) == run_folder / "model"


def test_weights_that_lack_their_manifest_are_found_so_that_loading_can_say_it(run_folder: Path) -> None:
    (run_folder / "model" / "MANIFEST.json").unlink()
    assert find_model(run_folder) == run_folder / "model"


def test_a_misspelled_folder_names_the_near_one(run_folder: Path) -> None:
    with pytest.raises(ModelError, match=r'Did you mean ".*en-de"') as caught:
        find_model(run_folder.with_name("en-dd"))
    assert caught.value.hint == f"Name one of these models: {run_folder}."


def test_a_folder_that_is_not_there_names_the_models_that_are(run_folder: Path) -> None:
    (run_folder.parent / "data").mkdir()
    with pytest.raises(ModelError, match="no such folder") as caught:
        find_model(run_folder.with_name("nothing"))
    assert "Did you mean" not in caught.value.what
    assert caught.value.hint == f"Name one of these models: {run_folder}."


def test_a_folder_that_may_not_be_read_is_passed_over(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private, is_file = run_folder.with_name("private"), Path.is_file
    private.mkdir()

    def refusing(path: Path) -> bool:
        if private in path.parents:
            raise PermissionError(13, "Permission denied", str(path))
        return is_file(path)

    monkeypatch.setattr(Path, "is_file", refusing)
    with pytest.raises(ModelError, match="no such folder") as caught:
        find_model(run_folder.with_name("nothing"))
    assert caught.value.hint == f"Name one of these models: {run_folder}."


def test_a_folder_that_is_not_there_says_how_to_train(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such folder") as caught:
        find_model(tmp_path / "nowhere" / "model")
    assert "dragoman train" in caught.value.hint


def test_a_file_is_no_model(run_folder: Path) -> None:
    with pytest.raises(ModelError, match="a file, not a model folder") as caught:
        find_model(run_folder / "model" / "weights.safetensors")
    assert str(run_folder / "model") in caught.value.hint


def test_an_unfinished_training_says_how_to_go_on(tmp_path: Path) -> None:
    (tmp_path / "checkpoints" / "100").mkdir(parents=True)
    with pytest.raises(ModelError, match="not finished") as caught:
        find_model(tmp_path)
    assert caught.value.hint.startswith(f"dragoman train -o {tmp_path} resumes it; with --finish")


def test_an_unfinished_project_says_its_own_command(tmp_path: Path) -> None:
    (tmp_path / "checkpoints" / "100").mkdir(parents=True)
    (tmp_path / "dragoman.toml").write_text("")
    with pytest.raises(ModelError, match="not finished") as caught:
        find_model(tmp_path)
    assert caught.value.hint.startswith(f"dragoman train {tmp_path} resumes it; with --finish")


def test_a_project_that_was_never_trained_says_so(tmp_path: Path) -> None:
    (tmp_path / "dragoman.toml").write_text("")
    (tmp_path / "checkpoints").mkdir()
    with pytest.raises(ModelError, match="not been trained") as caught:
        find_model(tmp_path)
    assert caught.value.hint == f"dragoman train {tmp_path}"


def test_any_other_folder_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no model in this folder") as caught:
        find_model(tmp_path)
    assert "weights.safetensors" in caught.value.expected
