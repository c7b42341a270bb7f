"""A student's data is what its teacher's beam writes, however often that was stopped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.config.load import load as load_config
from dragoman.config.parts.transformer import TransformerPart
from dragoman.errors import DataError, UsageError
from dragoman.inference.model import load
from dragoman.training import distillation as distilling
from dragoman.training.distillation import Distilled, distil, is_fit
from support.tiny_bundle import RNN, TRANSFORMER, WORDS, tiny_folder

PAIRS = [(" ".join(WORDS[i : i + 1 + i % 4]), f"t {WORDS[i]}") for i in range(12)]


@pytest.fixture(autouse=True)
def teacher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(distilling, "BLOCK", 5)
    lines = "".join(f"{src}\t{tgt}\n" for src, tgt in PAIRS)
    Path("train.tsv").write_text(lines, encoding="utf-8")
    part = {**TRANSFORMER, "layers": 3}
    return tiny_folder(Path("teacher"), part=part, seed=5)


def files(folder: str) -> list[bytes]:
    return [Path(folder, name).read_bytes() for name in ("distilled.src", "distilled.tgt", "distilled.json")]


def test_the_target_side_is_the_beam_output_of_each_fit_source_in_order() -> None:
    done = distil("teacher", Path("student"))
    sources = [src for src, _ in PAIRS]
    results = load("teacher")(sources)
    expected = [(x, y.text) for x, y in zip(sources, results, strict=True) if is_fit(x, y)]
    source, target, _ = files("student")
    assert (
        list(zip(source.decode().split("\n")[:-1], target.decode().split("\n")[:-1], strict=True)) == expected
    )
    assert (done.sources, done.kept) == (12, len(expected))
    assert 0 < len(expected) < 12


@pytest.mark.parametrize("flag", ["truncated", "repetition", "too_long", "too_short"])
def test_odd_outputs_are_not_taught(flag: str) -> None:
    result = load("teacher")("a")._replace(text="x y", flags=())
    assert is_fit("a", result)
    assert not is_fit("a", result._replace(flags=(flag,)))
    assert not is_fit("a", result._replace(text=" "))


def test_a_teacher_that_only_babbles_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distilling, "is_fit", lambda source, result: False)
    with pytest.raises(DataError, match="None of the 12 outputs of the teacher is usable") as error:
        distil("teacher", Path("student"))
    assert error.value.hint == "dragoman score teacher test.src test.tgt"


def test_a_teacher_that_was_stopped_goes_on_to_the_same_bytes() -> None:
    distil("teacher", Path("whole"))

    def stop(done: Distilled, total: int) -> None:
        assert total == 12
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        distil("teacher", Path("student"), tell=stop)
    assert json.loads(Path("student/distilled.json").read_text(encoding="utf-8"))["sources"] == 5
    with Path("student/distilled.tgt").open("ab") as file:  # a block that was cut off by a crash
        file.write(b"half a li")
    distil("teacher", Path("student"))
    assert files("student") == files("whole")


def test_the_student_has_the_teachers_encoder_and_a_shallow_decoder() -> None:
    distil("teacher", Path("student"))
    student = load_config(Path("student/dragoman.toml"))
    assert student.model.encoder == load_config(Path("teacher/settings.toml")).model.encoder
    assert student.model.decoder.layers == 2
    assert [corpus.files for corpus in student.data.train] == [
        ("student/distilled.src", "student/distilled.tgt")
    ]


def test_with_real_pairs_the_student_learns_from_both() -> None:
    distil("teacher", Path("student"), real=True)
    corpora = load_config(Path("student/dragoman.toml")).data.train
    assert [len(corpus.files) for corpus in corpora] == [2, 1]
    assert Path(corpora[1].files[0]).resolve() == Path("train.tsv").resolve()


def test_the_student_of_a_recurrent_teacher_is_a_transformer() -> None:
    tiny_folder(Path("recurrent"), part=RNN, seed=2, model={"tied": "none"}, stop="n_best")
    distil("recurrent", Path("student"))
    model = load_config(Path("student/dragoman.toml")).model
    assert isinstance(model.encoder, TransformerPart)
    assert isinstance(model.decoder, TransformerPart)


def test_other_sources_may_be_given_and_missing_ones_are_named() -> None:
    Path("more.en").write_text("a b\nc\n", encoding="utf-8")
    assert distil("teacher", Path("student"), sources=["more.en"]).sources == 2
    with pytest.raises(DataError, match="source file for the teacher does not exist") as refused:
        distil("teacher", Path("another"), sources=["gone.en"])
    assert refused.value.where == "gone.en"
    with pytest.raises(UsageError, match="not from this teacher"):
        distil("teacher", Path("student"))
    assert distil("teacher", Path("student"), force=True).sources == 12


def test_the_commands_make_a_student(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "distil"]) == 2
    assert "No teacher was given." in capsys.readouterr().err
    assert main(["new", "distil", "--teacher", "teacher", "--real"]) == 0
    captured = capsys.readouterr()
    assert captured.out.split() == [
        f"teacher-small/{n}" for n in ("distilled.src", "distilled.tgt", "dragoman.toml", "README.md")
    ]
    assert captured.err.strip().endswith("Next: dragoman train teacher-small")
    few = ["training.updates=2", "training.valid_decode=2", "training.warmup=1", "--yes"]
    assert main(["train", "teacher-small", *few]) == 0
    assert main(["run", "teacher-small", "a b"]) == 0
