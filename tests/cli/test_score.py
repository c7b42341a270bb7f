"""`dragoman score`: a model or a file of outputs, alone or against another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman.cli.main import main
from support.tiny_bundle import RNN, tiny_folder

SOURCES = ["a b c", "d e", "f g h i", "", "a"]
REFERENCES = ["x y z", "v w", "the fourth word", "", "b"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("score")
    tiny_folder(home / "one" / "model")
    tiny_folder(home / "two" / "model", part=RNN)
    (home / "test.src").write_text("".join(f"{line}\n" for line in SOURCES))
    (home / "test.tgt").write_text("".join(f"{line}\n" for line in REFERENCES))
    (home / "test.tsv").write_text("a b c\tx y z\nd e\tv w\n")
    return home


@pytest.fixture(autouse=True)
def inside(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)


def test_a_model_gets_a_table_with_intervals(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "one", "test.src", "test.tgt"]) == 0
    out, err = capsys.readouterr()
    for word in (
        "BLEU",
        "chrF",
        "exact match",
        "WER",
        "CER",
        "5 sentences, run by torch",
    ):
        assert word in out
    assert "\n\n5 sentences" in out
    assert "\N{REPLACEMENT CHARACTER}" not in out
    assert "signature" not in out
    assert "Next: dragoman score one test.src test.tgt --against OTHER" in err


def test_a_model_that_copying_would_match_is_told_so(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "copies.tsv").write_text("".join(f"{line}\t{line}\n" for line in SOURCES))
    assert main(["score", "one", "copies.tsv"]) == 0
    assert "To copy the source would score no less: BLEU 100.00." in capsys.readouterr().err
    assert main(["score", "test.tgt", "--hyp", "test.tgt"]) == 0
    assert "copy" not in capsys.readouterr().err


def test_training_data_are_no_test_set(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tiny_folder(home / "taught" / "model")  # by its settings, of train.tsv in this folder
    (home / "train.tsv").write_text("a b c\tx y z\n", encoding="utf-8")
    assert main(["score", "taught", "train.tsv"]) == 0
    assert "taught was trained on these pairs" in capsys.readouterr().err
    assert main(["score", "taught", "test.src", "test.tgt"]) == 0
    assert "was trained on" not in capsys.readouterr().err


def test_json_has_the_keys_of_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "one", "test.tsv", "--json", "search.size=1"]) == 0
    report = json.loads(capsys.readouterr().out)
    metrics = ["bleu", "chrf", "exact_match", "wer", "cer"]
    assert sorted(report) == sorted([*metrics, "signature", "intervals", "sentences", "runtime"])
    assert "tok:13a" in report["signature"]["bleu"]
    assert "nc:6" in report["signature"]["chrf"]
    assert report["runtime"] == "torch"
    assert report["sentences"] == 2


def test_saved_outputs_score_like_the_model(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["score", "one", "test.src", "test.tgt", "--json", "--save", "out.txt"])
    assert (home / "out.txt").read_text().count("\n") == len(SOURCES)
    main(["score", "test.tgt", "--hyp", "out.txt", "--json"])
    main(["score", "test.src", "test.tgt", "--hyp", "out.txt", "--json"])
    first, second, third = map(json.loads, capsys.readouterr().out.split("\n")[:3])
    assert first.pop("runtime") == "torch"
    assert first == second == third


def test_perfect_outputs_against_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "test.src", "test.tgt", "--hyp", "test.tgt", "--against", "one", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["exact_match"] == 100.0
    assert report["against"]["exact_match"]["value"] < 100.0
    assert 0 < report["against"]["bleu"]["p"] <= 1


def test_two_models_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "one", "test.src", "test.tgt", "--against", "two"]) == 0
    out = capsys.readouterr().out
    assert "\n\nagainst two (paired bootstrap)\n" in out
    assert "against two (paired bootstrap)" in out


def test_a_model_against_itself_could_be_chance(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "one", "test.src", "test.tgt", "--against", "one"]) == 0
    assert capsys.readouterr().out.count("could be chance") == 5


def test_lower_case_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "test.tgt", "--hyp", "test.tgt", "-lc"]) == 0
    assert "100.00" in capsys.readouterr().out
    assert main(["score", "test.tgt", "--hyp", "test.tgt", "-lc", "--json"]) == 0
    assert "case:lc" in json.loads(capsys.readouterr().out)["signature"]["bleu"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["one"], 2, "name no test set"),
        (["none", "test.src", "test.tgt"], 1, "no such folder"),
        (["one", "test.src"], 3, "do not form pairs"),
        (["one", "test.src", "none.tgt"], 3, "no such file"),
        (["one", "test.src", "test.tgt", "--hyp", "test.tgt"], 2, "no model to run"),
        (["test.tgt", "--hyp", "test.tgt", "--against", "one"], 2, "source side"),
        (["test.tsv", "--hyp", "test.tgt"], 3, "5 outputs for 2 references"),
        (["one", "test.tsv", "training.updates=3"], 2, "Only search"),
    ],
)
def test_mistakes_are_explained(
    arguments: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["score", *arguments]) == code
    err = capsys.readouterr().err
    assert said in err
    assert "Traceback" not in err


def test_a_model_learns_from_a_set_how_sure_it_may_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny_folder(tmp_path / "model")
    assert main(["score", str(tmp_path), "test.src", "test.tgt", "--calibrate"]) == 0
    said = capsys.readouterr().err
    assert "Calibrated on 4 pairs: token ECE 0." in said
    nothing = "say nothing about their quality"  # of a model that is not trained
    assert nothing in said
    assert main(["run", str(tmp_path), "--json", "a b c"]) == 0
    answer = capsys.readouterr()
    assert "confidence" not in json.loads(answer.out)
    assert nothing in answer.err
    assert main(["info", str(tmp_path)]) == 0
    assert nothing in capsys.readouterr().out


def test_outputs_of_nobody_cannot_be_calibrated(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "test.src", "test.tgt", "--hyp", "test.tgt", "--calibrate"]) == 2
    assert "no model to run" in capsys.readouterr().err


def test_outputs_that_differ_are_shown_with_their_words(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "better.txt").write_text("x y z\nv w\nthe fourth words\n\nb\n")
    (home / "worse.txt").write_text("x y z\nv u\nnone of it\n\nb\n")
    command = [
        "score",
        "test.src",
        "test.tgt",
        "--hyp",
        "better.txt",
        "--against",
        "worse.txt",
        "--diff",
        "1",
    ]
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "2 of 5 outputs differ. Largest differences in chrF:\n" in out
    assert "line 3     f g h i\n  reference  the fourth word\n" in out
    assert "  [the fourth words]\n" in out
    assert "  [none of it]\n" in out
    assert "line 2" not in out
    main([*command[:-1], "5", "--json"])
    first, second = json.loads(capsys.readouterr().out)["differences"]
    assert (first["line"], first["this"], first["other"]) == (3, "the fourth words", "none of it")
    assert (second["line"], second["source"], second["reference"]) == (2, "d e", "v w")
    assert second["this_chrf"] == pytest.approx(100)
    assert second["other_chrf"] < 50


def test_the_words_that_differ_are_marked_alone(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "a.txt").write_text("x y z\nv w\nthe fifth word\n\nb\n")
    (home / "b.txt").write_text("x y z\nv w\nthe fourth \x1b[31mword\n\nb\n")
    main(["score", "test.tgt", "--hyp", "a.txt", "--against", "b.txt", "--diff", "3"])
    out = capsys.readouterr().out
    assert "  the [fifth word]\n" in out
    assert "  the [fourth \N{REPLACEMENT CHARACTER}[31mword]\n" in out


def test_a_file_of_no_outputs_is_not_compared_in_silence(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "none.txt").write_text("")
    assert main(["score", "test.tgt", "--hyp", "test.tgt", "--against", "none.txt"]) != 0
    assert "This file is empty." in capsys.readouterr().err


@pytest.mark.parametrize("extra", [["--diff", "3"], ["--against", "two", "--diff", "0"]])
def test_a_diff_needs_a_number_and_another(extra: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "one", "test.src", "test.tgt", *extra]) == 2
    err = capsys.readouterr().err
    assert "--diff takes the number of outputs to show" in err
    assert "--against OTHER --diff 10" in err


def test_robustness_translates_changed_sources(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["score", "one", "test.src", "test.tgt", "-m", "chrf", "--robustness", "search.size=1"]
    assert main(arguments) == 0
    assert "\n  upper case" in capsys.readouterr().out
    assert main([*arguments, "--json"]) == 0
    (upper,) = json.loads(capsys.readouterr().out)["robustness"]
    assert (upper["name"], upper["changed"]) == ("upper case", 80.0)  # one source is empty
    assert set(upper["bleu"]) == {"value", "lost", "p"}


def test_a_file_of_outputs_has_no_robustness(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "test.src", "test.tgt", "--hyp", "test.tgt", "--robustness"]) == 2
    assert "there is no model to run" in capsys.readouterr().err
