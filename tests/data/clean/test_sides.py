"""Sides that do not belong together, or stand the wrong way round, are found before they are trained on."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.config.load import load
from dragoman.data.build import build_data
from dragoman.data.clean.check import check
from dragoman.data.clean.sides import Lengths
from dragoman.data.pair import Pair
from dragoman.data.readers.file_languages import are_swapped, corpus_languages, language_names
from dragoman.errors import DataError

SAMPLE = Path(__file__).parents[3] / "docs" / "tatoeba"
Lines = tuple[list[str], list[str]]


@pytest.fixture
def lines() -> Lines:
    en, de = (
        (SAMPLE / f"sample.{name}").read_text(encoding="utf-8").split("\n")[:-1] for name in ("en", "de")
    )
    return en, de


def written(folder: Path, name: str, lines: Lines, suffixes: tuple[str, str] = ("a", "b")) -> list[str]:
    files = [folder / f"{name}.{suffix}" for suffix in suffixes]
    for file, side in zip(files, lines, strict=True):
        file.write_text("".join(f"{line}\n" for line in side), encoding="utf-8")
    return [str(file) for file in files]


TMX = """<tmx version="1.4"><header srclang="fr"/><body>
<tu><tuv xml:lang="en"><seg>Alone.</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>Yes.</seg></tuv><tuv xml:lang="fr"><seg>Oui.</seg></tuv></tu>
</body></tmx>"""
XLIFF = '<xliff version="2.0" srcLang="en-GB" trgLang="cy"><file id="1"/></xliff>'


def test_a_memory_names_its_languages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tmx, xliff, gone = (str(tmp_path / name) for name in ("a.tmx", "b.xlf", "c.tmx"))
    Path(tmx).write_text(TMX, encoding="utf-8")
    Path(xliff).write_text(XLIFF, encoding="utf-8")
    assert corpus_languages([tmx]) == ["fr", "en"]
    assert corpus_languages([tmx], ("en", "fr")) == ["en", "fr"]
    assert corpus_languages([xliff]) == ["en-GB", "cy"]
    assert corpus_languages([gone]) == corpus_languages(["a.tsv"]) == []
    assert corpus_languages(["train.en", "train.de"]) == ["en", "de"]
    assert main(["check", tmx]) == 0
    said = capsys.readouterr()
    assert "fr → en" in said.out
    assert f"dragoman train {tmx} -o fr-en" in said.err


def test_the_next_command_has_the_validation_files_in_order(
    tmp_path: Path, lines: Lines, capsys: pytest.CaptureFixture[str]
) -> None:
    en, de = written(tmp_path, "train", lines, ("en", "de"))
    val_en, val_de = written(tmp_path, "val", (lines[0][:9], lines[1][:9]), ("en", "de"))
    assert main(["check", de, en, "--valid", val_en, val_de]) == 0
    said = capsys.readouterr()
    assert "valid is swapped" in said.out
    assert f"dragoman train {de} {en} --valid {val_de} {val_en} -o de-en" in said.err


def test_pairs_of_the_other_direction_are_found_and_counted(
    tmp_path: Path, lines: Lines, capsys: pytest.CaptureFixture[str]
) -> None:
    en, de = lines
    rng = random.Random(3)
    for share, is_doubtful in ((0.5, True), (0.02, False)):
        turned = [rng.random() < share for _ in en]
        sides = [(g, e) if other else (e, g) for e, g, other in zip(en, de, turned, strict=True)]
        both = written(tmp_path, f"mixed{share}", ([a for a, _ in sides], [b for _, b in sides]))
        report, true = check(both), min(sum(turned), len(turned) - sum(turned))
        assert 0.8 * true <= report.swapped.count <= true, "a few are too short to tell"
        majority = sum(turned) * 2 < len(turned)
        assert all(turned[pair.line - 1] is majority for pair in report.swapped.examples)
        assert report.is_doubtful is is_doubtful
    assert main(["check", *both]) == 0
    assert f"! {report.swapped.count} pairs with source and target swapped" in capsys.readouterr().out


def test_sides_of_one_language_have_no_direction(tmp_path: Path, lines: Lines) -> None:
    en, de = lines
    for name, pair in (
        ("aligned", (en, de)),
        ("answers", (en[:-1], en[1:])),
        ("corrections", ([line.lower() for line in en], en)),
        ("words", ([word for line in en for word in line.split()], [w for line in en for w in line.split()])),
    ):
        assert check(written(tmp_path, name, pair)).swapped.count == 0, name


def test_targets_in_another_order_are_doubted(tmp_path: Path, lines: Lines) -> None:
    en, de = lines
    good = check(written(tmp_path, "good", (en, de)))
    assert good.length_correlation is not None
    assert good.length_correlation > 0.7
    assert not good.is_doubtful
    shuffled = random.Random(1).sample(de, len(de))
    bad = check(written(tmp_path, "bad", (en, shuffled)))
    assert bad.is_shuffled
    assert bad.is_doubtful


def test_targets_that_are_all_as_long_say_nothing() -> None:
    dates = Lengths()
    for n in range(1000):
        dates.add(Pair("x" * (1 + n % 30), "2026-11-16", n))
    assert dates.correlation is None


def test_held_out_pairs_that_are_swapped_are_found_by_their_words(tmp_path: Path, lines: Lines) -> None:
    en, de = lines
    train = written(tmp_path, "train", (en[:400], de[:400]))
    valid = written(tmp_path, "valid", (de[400:], en[400:]))
    test = written(tmp_path, "test", (en[400:], de[400:]))
    report = check(train, valid=valid, test=test)
    assert report.turned == ["valid"]
    assert report.is_doubtful


def test_names_say_which_way_round(capsys: pytest.CaptureFixture[str], tmp_path: Path, lines: Lines) -> None:
    assert language_names(["a/train.en", "b.de.gz"]) == ["en", "de"]
    assert language_names(["train.src", "train.tgt"]) == []
    assert are_swapped(["v.de", "v.en"], ["t.en", "t.de"])
    assert not are_swapped(["v.en", "v.de"], ["t.en", "t.de"])
    en, de = lines
    train = written(tmp_path, "train", (en, de), ("en", "de"))
    valid = written(tmp_path, "valid", (de[:50], en[:50]), ("de", "en"))
    assert main(["check", *train, "--valid", *valid]) == 0
    out, err = capsys.readouterr()
    assert "  ! valid is swapped" in out
    assert "Next: review the warnings; then dragoman train" in err
    config = load(None, base={"data": {"train": [train], "valid": {"files": valid}}})
    with pytest.raises(
        DataError, match="By their names, these files are de → en, but the training files are en → de"
    ) as caught:
        build_data(config.data, config.text, tmp_path / "store")
    assert caught.value.hint.endswith(" ".join(reversed(valid)))


def test_validation_inside_training_is_counted_where_it_is_prepared(tmp_path: Path, lines: Lines) -> None:
    en, de = lines
    train = written(tmp_path, "train", (en, de))
    valid = written(tmp_path, "valid", ([*en[:30], "new"], [*de[:30], "neu"]))
    config = load(
        None, base={"data": {"train": [train], "valid": {"files": valid}}, "text": {"kind": "char"}}
    )
    data = build_data(config.data, config.text, tmp_path / "store")
    assert data.facts()["leaked"] == 30
    clean = load(None, base={"data": {"train": [train]}, "text": {"kind": "char"}})
    assert build_data(clean.data, clean.text, tmp_path / "other").leaked == 0


def test_what_clean_would_drop_is_said_as_that(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, lines: Lines
) -> None:
    en, de = lines
    main(["check", *written(tmp_path, "train", (en + en[:5], de + de[:5]))])
    assert f"data.clean=true would keep {len(en):,} and drop: 5 duplicates" in capsys.readouterr().out


def test_fewer_held_out_pairs_than_asked_for_are_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, lines: Lines
) -> None:
    train = written(tmp_path, "train", lines)
    assert main(["check", *train, "--hold-out", "200", "-o", str(tmp_path / "out")]) == 0
    assert "you asked for 200, but at most a twentieth" in capsys.readouterr().err


def test_a_missing_model_to_compare_with_is_said_at_once(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["score", str(tmp_path), "a", "b", "--against", str(tmp_path / "gone")]) == 2
    assert f"There is no {tmp_path / 'gone'} to compare with." in capsys.readouterr().err
