"""`dragoman new` makes a folder that the other verbs take."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.cli.verbs.lesson import by_length, ended
from dragoman.config.load import load
from dragoman.config.root import Config
from dragoman.data.pair import Pair
from dragoman.data.readers.open_pairs import open_pairs
from dragoman.data.recipes.build import RECIPES
from dragoman.data.split import write


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Make the folder of a recipe once: tones and pictures take seconds."""

    @cache
    def make(name: str) -> Path:
        home = tmp_path_factory.mktemp(name)
        with contextlib.chdir(home):
            assert main(["new", name]) == 0
        return home

    return make


def test_no_name_lists_every_recipe(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new"]) == 0
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.strip().split("\n")] == [*RECIPES, "distil"]


GENERATED = {name: recipe for name, recipe in RECIPES.items() if recipe.splits}


@pytest.mark.parametrize("name", GENERATED)
def test_recipe_makes_data_settings_and_a_page(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", name]) == 0
    captured = capsys.readouterr()
    lesson = RECIPES[name].lesson
    splits = RECIPES[name].splits
    assert splits
    files = {*(f"{part}.{RECIPES[name].form}" for part in splits()), *RECIPES[name].texts}
    folders = set(splits()) if RECIPES[name].write_source else set()
    assert files >= {"dragoman.toml", "README.md", *(f"{model}.toml" for model in lesson)}
    assert {file.name for file in Path(name).iterdir()} == files | folders
    assert set(captured.out.split()) == {f"{name}/{file}" for file in files}
    then = f"new {name} --train" if lesson else f"train {name}"
    assert captured.err.strip().endswith(f"Next: dragoman {then}")
    assert "FOLDER" not in Path(name, "README.md").read_text(encoding="utf-8")
    assert f"dragoman train {name}" in Path(name, "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", GENERATED)
def test_settings_of_a_recipe_are_valid_and_name_its_files(
    name: str, made: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(made(name))
    for settings in Path(name).glob("*.toml"):
        config = load(settings)
        corpora = filter(None, [*config.data.train, config.data.valid, config.data.test])
        assert all(Path(corpus.files[0]).exists() for corpus in corpora)


LESSONS = [(name, model) for name, recipe in RECIPES.items() for model in recipe.lesson]


@pytest.mark.parametrize(("name", "model"), LESSONS)
def test_every_model_of_a_lesson_has_valid_settings(
    name: str, model: str, made: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(made(name))
    config = load(Path(name, f"{model}.toml"))
    assert config.data.valid
    assert Path(config.data.valid.files[0]).exists()


@pytest.mark.slow
def test_a_lesson_trains_its_models_and_compares_them_by_length(capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path("from-rnn-to-attention")
    main(["new", folder.name])
    for name in ("elman", "transformer"):
        file = folder / f"{name}.toml"
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace("updates = 600", "updates = 3\nthreads = 1"), encoding="utf-8")
    capsys.readouterr()
    command = ["new", folder.name, "--train", "--models", "elman", "transformer"]
    assert main(command) == 0
    out, err = capsys.readouterr()
    title, head, *rows, note = out.strip().split("\n")
    assert title.strip() == "words right, by length"
    assert note.startswith("* ")  # after three updates they are still learning
    assert head.split()[:8] == ["model", "parameters", "updates", "time", "loss", "3–9", "10–16", "17–23"]
    assert [row.split()[0] for row in rows] == ["elman", "transformer"]
    assert [row.split()[3] for row in rows] == ["3", "3"]
    assert all(row in err for row in rows)  # as soon as it is known
    assert "Plan" not in err
    results = json.loads((folder / "comparison.json").read_text(encoding="utf-8"))
    assert [list(map(int, result["by_length"])) for result in results] == [list(range(3, 24))] * 2
    assert ">transformer</text>" in (folder / "comparison.svg").read_text(encoding="utf-8")
    weights = folder / "elman" / "model" / "weights.safetensors"
    made = weights.stat().st_mtime_ns
    assert main(command) == 0  # what is trained stays
    assert weights.stat().st_mtime_ns == made


def test_words_are_right_in_their_place() -> None:
    pairs = [Pair("1 2", "one two", 1), Pair("3", "three", 2), Pair("4 5", "four five", 3)]
    assert by_length(pairs, ["one", "three", "five four"]) == {1: 1.0, 2: 0.25}


@pytest.mark.parametrize(
    ("losses", "still"),
    [
        ([3.0 - 0.02 * n for n in range(100)], True),
        ([3.0] * 100, False),
        ([0.5**n for n in range(100)], False),  # there is nothing left to learn
        ([3.0], False),
    ],
)
def test_a_loss_that_still_falls_is_still_learning(losses: list[float], still: bool) -> None:
    assert ended(losses)["still_learning"] == still


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["dates", "--train"], "dates is not a lesson"),
        (["from-rnn-to-attention", "--train", "--models", "elmo"], 'This lesson has no model "elmo".'),
    ],
)
def test_wrong_lessons_are_refused(words: list[str], what: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", *words]) == 2
    assert what in capsys.readouterr().err
    assert not list(Path().iterdir())


@pytest.mark.parametrize("name", GENERATED)
def test_every_line_is_one_pair_and_files_are_the_same_each_time(
    name: str, made: Callable[[str], Path]
) -> None:
    main(["new", name, "-o", "again"])
    for split in ("train", "valid", "test"):
        form = RECIPES[name].form
        data = (made(name) / name / f"{split}.{form}").read_bytes()
        assert data == Path("again", f"{split}.{form}").read_bytes()
        lines = data.decode("utf-8").removesuffix("\n").split("\n")
        assert all(line.count("\t") == (form != "txt") and all(line.split("\t")) for line in lines if line)


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
    assert 'Did you mean "dates"?' in capsys.readouterr().err


def mine(pairs: int) -> list[tuple[str, str]]:
    return [(f"word {number}", f"wort {number}") for number in range(pairs)]


def read(*files: str) -> list[tuple[str, str]]:
    return [(pair.src, pair.tgt) for pair in open_pairs(files)]


def parts_of(config: Config) -> list[list[tuple[str, str]]]:
    corpora = [config.data.train[0], config.data.valid, config.data.test]
    return [read(*corpus.files) for corpus in corpora if corpus]


@pytest.mark.parametrize("names", [["mine.tsv"], ["mine.en", "mine.de"], ["mine.jsonl"]])
def test_data_of_ones_own_replace_the_generated_ones(
    names: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    write([Pair(*texts, line) for line, texts in enumerate(mine(400))], list(map(Path, names)))
    assert main(["new", "reverse", "--data", *names]) == 0
    made = set(capsys.readouterr().out.split())
    assert made == {str(file) for file in Path("reverse").iterdir()}
    train, valid, test = parts_of(load(Path("reverse", "dragoman.toml")))
    assert (len(train), len(valid), len(test)) == (360, 20, 20)
    assert sorted(train + valid + test) == sorted(mine(400))
    page = Path("reverse", "README.md").read_text(encoding="utf-8")
    tests = " ".join(f"reverse/test{Path(name).suffix}" for name in names)
    assert f"dragoman score reverse {tests}\n" in page
    assert page.endswith(f"| {tests.replace('reverse/', '')} | 20 |\n")


def test_a_recipe_without_data_asks_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "synopsis"]) == 2
    assert "dragoman new synopsis --data" in capsys.readouterr().err
    assert not list(Path().iterdir())
    write([Pair(*texts, line) for line, texts in enumerate(mine(400))], [Path("mine.tsv")])
    assert main(["new", "synopsis", "--data", "mine.tsv"]) == 0
    assert [len(part) for part in parts_of(load(Path("synopsis", "dragoman.toml")))] == [360, 20, 20]


def test_data_that_cannot_be_read_leave_no_folder(capsys: pytest.CaptureFixture[str]) -> None:
    Path("broken.tsv").write_text("one column\n" * 100)
    assert main(["new", "reverse", "--data", "broken.tsv"]) == 3
    assert "broken.tsv" in capsys.readouterr().err
    assert main(["new", "reverse", "--data", "missing.tsv"]) == 3
    assert [file.name for file in Path().iterdir()] == ["broken.tsv"]


@pytest.mark.parametrize("name", ["slots", "intents"])
def test_check_reads_the_data_of_the_task(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["new", name])
    assert main(["check", name]) == 0
    found = capsys.readouterr().out
    assert found.count("none of its ") == 2
    assert "✗" not in found
