"""`dragoman score`: other metrics, further references, scores by length, and edits that are shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman.cli.main import main
from support.pseudo_terminal import watched

REFERENCES = ["the cat sat on the mat", "a dog ran", "bicycle", "it rains"]
OUTPUTS = ["the hat sat on mat", "a big dog ran", "bycicle", "it rains"]


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write("test.src", [f"{'w ' * n}w" for n in (5, 2, 0, 1)])
    write("test.tgt", REFERENCES)
    write("out.txt", OUTPUTS)
    return tmp_path


def write(name: str, lines: list[str]) -> None:
    Path(name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def scored(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["score", *arguments, "--hyp", "out.txt"]) == 0
    return capsys.readouterr().out


def test_metrics_are_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    out = scored(capsys, "test.src", "test.tgt", "--metrics", "rouge", "google_gleu", "napoles_gleu")
    for title in ("ROUGE-1", "ROUGE-2", "ROUGE-L", "Google GLEU", "Napoles GLEU"):
        assert f"\n{title}" in out
    assert "BLEU" not in out
    assert "WER" not in out


def test_metrics_that_are_chosen_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    out = scored(capsys, "test.tgt", "-m", "ter", "rouge_l", "--against", "test.tgt", "--json")
    assert list(json.loads(out)["against"]) == ["ter", "rouge_l"]
    assert json.loads(out)["against"]["ter"]["value"] == 0


def test_further_references_count(capsys: pytest.CaptureFixture[str]) -> None:
    one = json.loads(scored(capsys, "test.tgt", "--json"))
    two = json.loads(scored(capsys, "test.tgt", "--ref", "out.txt", "--json"))
    assert one["exact_match"] == 25
    assert two["exact_match"] == 100
    assert two["bleu"] == pytest.approx(100)
    assert (two["wer"], two["cer"]) == (0, 0)
    assert "nrefs:2" in two["signature"]["chrf"]


def test_spans_are_shown_by_type(capsys: pytest.CaptureFixture[str]) -> None:
    write("test.tgt", ["B-PER O B-LOC I-LOC", "O O"])
    write("out.txt", ["B-PER O B-LOC O", "O B-LOC"])
    out = scored(capsys, "test.tgt", "-m", "span_f1", "tag_accuracy")
    assert "\nspan F1         40.00 " in out
    assert "\nPER       100.00   100.00   100.00        1        1\n" in out
    assert "\nLOC         0.00     0.00     0.00        1        2\n" in out
    by_type = json.loads(scored(capsys, "test.tgt", "-m", "span_f1", "--json"))["by_type"]
    assert by_type["PER"] == {
        "precision": 100,
        "recall": 100,
        "f1": 100,
        "correct": 1,
        "predicted": 1,
        "wanted": 1,
    }


def test_labels_that_are_confused_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    write("test.tgt", ["yes", "no", "no", "perhaps"])
    write("out.txt", ["yes", "yes", "yes", "no"])
    out = scored(capsys, "test.tgt", "-m", "accuracy", "macro_f1")
    assert "\naccuracy        25.00 " in out
    assert "count\n  no  →  yes  2\n  perhaps  →  no  1\n" in out
    facts = json.loads(scored(capsys, "test.tgt", "-m", "macro_f1", "--json"))
    assert facts["confusions"] == [["no", "yes", 2], ["perhaps", "no", 1]]


def test_scores_by_length_have_counts_and_intervals(capsys: pytest.CaptureFixture[str]) -> None:
    out = scored(capsys, "test.src", "test.tgt", "-m", "wer", "chrf", "--by-length")
    assert "\nby words of the source\nWER          sentences   value   95 % interval\n  1" in out
    assert "\n  6                  1   33.33   33.33 to 33.33 %\n" in out
    facts = json.loads(scored(capsys, "test.src", "test.tgt", "--by-length", "--json"))["by_length"]
    assert facts["unit"] == "words"
    assert [(one["shortest"], one["longest"], one["sentences"]) for one in facts["buckets"]] == [
        (1, 1, 1),
        (2, 2, 1),
        (3, 3, 1),
        (6, 6, 1),
    ]
    assert facts["buckets"][3]["intervals"]["wer"] == [pytest.approx(100 / 3)] * 2


EDITS = """
Furthest from the reference, by edits that cost 1/1/1:

line 2     w w w
  reference  a *** dog ran
  output     a big dog ran
               I
  33 %: 0 substituted, 0 deleted, 1 inserted

line 1     w w w w w w
  reference  the cat sat on the mat
  output     the hat sat on *** mat
                 S          D
  33 %: 1 substituted, 1 deleted, 0 inserted

"""


def test_edits_are_shown_in_columns(capsys: pytest.CaptureFixture[str]) -> None:
    out = scored(capsys, "test.src", "test.tgt", "--show-edits")
    assert "line 4" not in out
    assert "  reference  b i c y c l e\n  output     b y c i c l e\n               S   S\n" in out
    for part in EDITS.split("\n\n"):
        assert part.strip() in out


def test_costs_of_edits_are_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(scored(capsys, "test.tgt", "--show-edits", "--edit-costs", "1/1/2", "--json"))["edits"]
    assert [(one["line"], one["cost"], one["units"]) for one in found] == [(3, 4, 7), (1, 3, 6), (2, 1, 3)]
    assert "".join(new for _, _, new in found[0]["edits"]) == "bycicle"


def test_of_several_references_the_nearest_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    write("other.txt", ["the hat sat on the mat", "x", "bycicle", "it rains"])
    found = json.loads(scored(capsys, "test.tgt", "--ref", "other.txt", "--show-edits", "--json"))["edits"]
    assert [(one["line"], one["reference"]) for one in found] == [
        (2, "a dog ran"),
        (1, "the hat sat on the mat"),
    ]


def test_a_long_alignment_is_cut_into_blocks_that_fit_the_terminal() -> None:
    code, seen = watched("score", "test.tgt", "--hyp", "out.txt", "--show-edits", "-m", "wer", columns=30)
    assert code == 0
    assert "  reference  the cat sat on\n  output     the hat sat on\n                 S\n" in seen
    assert "  reference  the mat\n  output     *** mat\n             D\n" in seen


def test_lower_case_reaches_edits_and_labels(capsys: pytest.CaptureFixture[str]) -> None:
    write("out.txt", [line.upper() for line in REFERENCES])
    out = scored(capsys, "test.tgt", "-lc", "-m", "macro_f1", "--show-edits")
    assert "confusions" not in out
    assert "Every output equals its reference." in out


def test_outputs_that_are_all_right_have_no_edits(capsys: pytest.CaptureFixture[str]) -> None:
    write("out.txt", REFERENCES)
    assert "\nEvery output equals its reference.\n" in scored(capsys, "test.tgt", "--show-edits", "3")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["test.tgt", "--by-length"], 2, "need the source side"),
        (["test.tgt", "-m", "napoles_gleu"], 2, "needs the source of each output"),
        (["test.tgt", "-m", "gleu"], 2, 'Did you mean "google_gleu" or "napoles_gleu"?'),
        (["test.tgt", "--ref", "test.tgt", "-m", "span_f1"], 2, "compares with one reference"),
        (["test.tgt", "--ref", "short.txt"], 3, "It has 1 lines, and the test set has 4."),
        (["test.tgt", "--ref", "none.txt"], 3, "no such file"),
        (["test.tgt", "--show-edits", "0"], 2, "the number of outputs to show"),
        (["test.tgt", "--show-edits", "--edit-costs", "1/2"], 2, "not the cost of an insertion"),
        (["test.tgt", "--show-edits", "--edit-costs", "0/1/1"], 2, "not the cost of an insertion"),
        (["test.tgt", "-m", "span_f1"], 3, "is no tag of a span"),
    ],
)
def test_mistakes_are_explained(
    arguments: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write("short.txt", ["a"])
    assert main(["score", *arguments, "--hyp", "test.tgt" if "span_f1" in arguments else "out.txt"]) == code
    err = capsys.readouterr().err
    assert said in err
    assert "Traceback" not in err


def test_a_score_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    out = scored(capsys, "test.src", "test.tgt", "-m", "wer", "--explain", "2")
    for part in ("length of the source", "words by kind", "reason ", "copy of the source", "of the loss"):
        assert part in out
    assert out.count("\nline ") == 2
    assert "line 3     chrF" in out
    facts = json.loads(scored(capsys, "test.src", "test.tgt", "-m", "wer", "--explain", "2", "--json"))
    assert [one["line"] for one in facts["errors"]["sentences"]] == [3, 1]
    assert facts["errors"]["omissions"] is None


def test_training_data_is_given_for_a_file_of_outputs(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("test.src", "test.tgt", "-m", "wer", "--explain", "--training", "test.src", "test.tgt")
    out = scored(capsys, *arguments)
    assert "nearest training pair" in out
    assert "without a counterpart" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["test.tgt", "--explain"], "An explanation needs the source side"),
        (["test.src", "test.tgt", "--explain", "0"], "--explain takes the number of outputs"),
        (
            ["test.src", "test.tgt", "--training", "test.tsv"],
            "--training names the data that --explain compares",
        ),
    ],
)
def test_options_that_do_not_fit(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["score", *arguments, "--hyp", "out.txt"]) == 2
    assert message in capsys.readouterr().err


def test_training_data_that_is_missing_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["score", "test.src", "test.tgt", "--hyp", "out.txt", "--explain", "--training", "no.tsv"]
    assert main(arguments) == 3
    assert "no.tsv" in capsys.readouterr().err
