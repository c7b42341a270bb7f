"""What ocr draws and the recipe tones dials can be read and heard without a network."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dragoman.data.recipes.build import make_recipe
from dragoman.data.recipes.ocr import generate as ocr
from dragoman.data.recipes.tones import generate as tones
from dragoman.data.signals.picture import read_picture
from dragoman.data.signals.sound import read_sound
from dragoman.errors import UsageError


def test_letters_differ_and_are_seven_rows_high():
    pictures = {(glyph.shape, glyph.tobytes()) for glyph in ocr.GLYPHS.values()}
    assert len(pictures) == 26
    assert {glyph.shape[0] for glyph in ocr.GLYPHS.values()} == {7}
    assert all(glyph.any(axis=1).all() for glyph in ocr.GLYPHS.values()), "a row without ink"


def test_a_word_is_black_on_white_and_as_long_as_its_letters():
    short, long = ocr.draw("BA", 1), ocr.draw("BABABABA", 1)
    assert short.shape[0] == long.shape[0] == 24
    assert long.shape[1] > 2 * short.shape[1]
    assert np.median(short) > 180
    assert short.min() < 130
    assert (ocr.draw("BA", 1) == short).all()
    assert ocr.draw("BA", 2).shape != short.shape or (ocr.draw("BA", 2) != short).any()


@pytest.mark.parametrize("key", "0123456789*#")
def test_a_key_sounds_at_its_two_frequencies(key: str):
    sound = tones.dial(key, 3)
    energy = np.abs(np.fft.rfft(sound, 8 * tones.RATE))
    row, column = tones.TONES[key]

    def at(f: int) -> float:
        return float(energy[8 * f - 40 : 8 * f + 40].max())

    assert max(tones.ROWS, key=at) == row
    assert max(tones.COLUMNS[:3], key=at) == column


def test_the_files_are_written_and_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    small = {"train": 3, "valid": 1, "test": 1}
    monkeypatch.setattr(tones, "SIZES", small)
    make_recipe("tones", tmp_path / "tones")
    for line in (tmp_path / "tones" / "train.tsv").read_text(encoding="utf-8").strip().split("\n"):
        path, text = line.split("\t")
        assert len(read_sound(tmp_path / "tones" / path, tones.RATE)) > len(text) * 0.1 * tones.RATE
    with pytest.raises(UsageError, match="has no --data"):
        make_recipe("tones", tmp_path / "own", [tmp_path / "tones" / "train.tsv"])


def test_a_drawn_word_is_written_and_read(tmp_path: Path):
    ocr.write_source(tmp_path / "0.png", "BABA")
    assert (read_picture(tmp_path / "0.png") < 130).any()
