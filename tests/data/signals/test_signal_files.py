"""Pictures, sounds and series of numbers are read as they were written; broken and hostile files are refused,
in words, with the file named.
"""

from __future__ import annotations

import struct
import sys
import wave
import zlib
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from dragoman.data.signals import sound as sound_module
from dragoman.data.signals.numbers import read_numbers
from dragoman.data.signals.picture import FORMATS, read_picture, write_picture
from dragoman.data.signals.sound import read_sound, write_sound
from dragoman.errors import DataError, MissingExtra

SIGNATURE = b"\x89PNG\r\n\x1a\n"
GREY = np.random.default_rng(1).integers(0, 256, (5, 7), dtype=np.uint8)


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(
    rows: bytes, width: int, height: int, *, depth: int = 8, colour: int = 0, palette: bytes = b""
) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    middle = chunk(b"PLTE", palette) if palette else b""
    return b"".join(
        (SIGNATURE, chunk(b"IHDR", header), middle, chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b""))
    )


def filtered(pixels: NDArray[np.uint8], kind: int) -> bytes:
    """Rows of samples (height, width, samples) as section 9.2 of the standard filters them."""
    x = pixels.astype(int)
    a = np.pad(x, ((0, 0), (1, 0), (0, 0)))[:, :-1]
    b = np.pad(x, ((1, 0), (0, 0), (0, 0)))[:-1]
    c = np.pad(x, ((1, 0), (1, 0), (0, 0)))[:-1, :-1]
    p = a + b - c
    nearest = np.argmin([abs(p - a), abs(p - b), abs(p - c)], axis=0)
    predicted = [0 * x, a, b, (a + b) // 2, np.choose(nearest, [a, b, c])][kind]
    rows = ((x - predicted) % 256).astype(np.uint8).reshape(len(x), -1)
    return np.pad(rows, ((0, 0), (1, 0)), constant_values=kind).tobytes()


@pytest.mark.parametrize("kind", range(5))
@pytest.mark.parametrize(("colour", "samples"), [(0, 1), (2, 3), (4, 2), (6, 4)])
def test_filters_and_colours(tmp_path: Path, kind: int, colour: int, samples: int):
    pixels = np.random.default_rng(kind).integers(0, 256, (5, 7, samples), dtype=np.uint8)
    (tmp_path / "x.png").write_bytes(png(filtered(pixels, kind), 7, 5, colour=colour))
    grey = pixels[..., :3] @ [0.299, 0.587, 0.114] if samples > 2 else pixels[..., 0].astype(float)
    alpha = pixels[..., -1] / 255 if samples in (2, 4) else 1.0
    assert np.abs(read_picture(tmp_path / "x.png") - (grey * alpha + 255 * (1 - alpha))).max() <= 1.01


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_few_bits_and_palettes(tmp_path: Path, depth: int):
    most = 2**depth - 1
    values = np.random.default_rng(depth).integers(0, most + 1, (4, 11), dtype=np.uint8)
    bits = np.unpackbits(values[..., None], axis=2)[..., 8 - depth :].reshape(4, -1)
    rows = np.pad(np.packbits(bits, axis=1), ((0, 0), (1, 0))).tobytes()
    (tmp_path / "grey.png").write_bytes(png(rows, 11, 4, depth=depth))
    assert (read_picture(tmp_path / "grey.png") == values * (255 // most)).all()
    palette = bytes(range(10, 10 + most + 1))
    triples = b"".join(bytes([value] * 3) for value in palette)
    (tmp_path / "palette.png").write_bytes(png(rows, 11, 4, depth=depth, colour=3, palette=triples))
    assert (read_picture(tmp_path / "palette.png") == np.frombuffer(palette, np.uint8)[values]).all()


def test_16_bits_and_what_we_write(tmp_path: Path):
    wide = np.stack((GREY, GREY[::-1]), axis=2)  # big-endian
    (tmp_path / "wide.png").write_bytes(png(filtered(wide, 1), 7, 5, depth=16))
    assert (read_picture(tmp_path / "wide.png") == GREY).all()
    write_picture(tmp_path / "ours.png", GREY)
    assert (read_picture(tmp_path / "ours.png") == GREY).all()


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 255), st.booleans())
def test_a_damaged_picture_is_refused_unless_it_is_whole(
    tmp_path_factory: pytest.TempPathFactory, place: int, flip: int, truncated: bool
):
    raw = bytearray(png(filtered(GREY[..., None], 4), 7, 5))
    place %= len(raw)
    if truncated:
        del raw[place:]
    else:
        raw[place] ^= flip
    file = tmp_path_factory.mktemp("png") / "x.png"
    file.write_bytes(raw)
    found = GREY  # it is read if it was damaged behind its end
    with suppress(DataError):
        found = read_picture(file)
    assert (found == GREY).all()


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "not a picture in one of these formats"),
        (b"GIF89a\x01\x00\x01\x00\x00\x00\x00;", "not a picture in one of these formats"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "not a picture in one of these formats"),
        (png(b"", 4_000_000_000, 4_000_000_000), "This picture cannot be read"),
        (png(b"", 4_097, 4_096), "its size is 4,097 × 4,096 pixels"),
        (png(b"", 10_000, 10_000), "its size is 10,000 × 10,000 pixels"),  # of which Pillow would only warn
        (png(b"", 0, 5), "This picture cannot be read"),
        (png(bytes([9] * 8 * 5), 7, 5), "This picture cannot be read"),
        (png(bytes(8 * 5), 7, 5, depth=3), "This picture cannot be read"),
        (SIGNATURE + chunk(b"IEND", b""), "This picture cannot be read"),
    ],
)
def test_hostile_pictures(tmp_path: Path, raw: bytes, why: str):
    (tmp_path / "x.png").write_bytes(raw)
    with pytest.raises(DataError, match=why) as caught:
        read_picture(tmp_path / "x.png")
    assert caught.value.where == str(tmp_path / "x.png")
    assert "\n" not in caught.value.what
    assert "object at" not in caught.value.what


def test_a_picture_unpacks_to_no_more_than_its_size(tmp_path: Path):
    (tmp_path / "x.png").write_bytes(png(bytes(100_000_000), 7, 5))
    with suppress(DataError):
        assert read_picture(tmp_path / "x.png").shape == (5, 7)


@pytest.mark.parametrize("kind", FORMATS)
def test_other_formats_are_read(tmp_path: Path, kind: str):
    smooth = np.add.outer(np.arange(64), 2 * np.arange(100)).astype(np.uint8)
    Image.fromarray(smooth).save(tmp_path / "x", format=kind, quality=95)
    assert np.abs(read_picture(tmp_path / "x").astype(int) - smooth).mean() < 2
    raw = (tmp_path / "x").read_bytes()
    (tmp_path / "x").write_bytes(raw[: len(raw) // 2])
    with pytest.raises(DataError, match="This picture cannot be read"):
        read_picture(tmp_path / "x")


def test_a_photograph_is_turned_as_the_camera_was_held(tmp_path: Path):
    wide = Image.fromarray(np.full((20, 50), 200, np.uint8))
    exif = wide.getexif()
    exif[0x0112] = 6  # a quarter to the right
    wide.save(tmp_path / "x.jpg", exif=exif)
    assert read_picture(tmp_path / "x.jpg").shape == (50, 20)


def test_what_is_transparent_is_white(tmp_path: Path):
    picture = Image.new("P", (3, 2), 0)
    picture.putpalette(bytes([10, 10, 10, 90, 90, 90]))
    picture.putpixel((1, 1), 1)
    picture.save(tmp_path / "x.png", transparency=0)
    assert read_picture(tmp_path / "x.png").tolist() == [[255, 255, 255], [255, 90, 255]]


def wav(file: Path, raw: bytes, *, rate: int = 8000, channels: int = 1, width: int = 2) -> Path:
    with wave.open(str(file), "wb") as sound:
        sound.setparams((channels, width, rate, 0, "NONE", ""))
        sound.writeframes(raw)
    return file


def test_sounds_of_8_and_16_bits_mono_and_stereo(tmp_path: Path):
    values = np.array([[0, 64], [-128, 127], [5, -6]])
    byte = wav(tmp_path / "8.wav", (values + 128).astype(np.uint8).tobytes(), channels=2, width=1)
    short = wav(tmp_path / "16.wav", (values * 256).astype("<i2").tobytes(), channels=2)
    for file in (byte, short):
        assert np.allclose(read_sound(file, 8000), values.mean(axis=1) / 128)
    write_sound(tmp_path / "ours.wav", np.array([0.5, -0.25, 2.0], np.float32), 8000)
    assert np.allclose(read_sound(tmp_path / "ours.wav", 8000), [0.5, -0.25, 1.0], atol=1e-4)


@pytest.mark.parametrize(
    ("cut", "why"), [(0, "truncated"), (8, "truncated"), (30, "truncated"), (50, "it is truncated")]
)
def test_truncated_sounds(tmp_path: Path, cut: int, why: str):
    file = wav(tmp_path / "x.wav", bytes(20))
    file.write_bytes(file.read_bytes()[:cut])
    with pytest.raises(DataError, match=why) as caught:
        read_sound(file, 8000)
    assert caught.value.where == str(file)


def test_other_sounds_are_refused_in_words(tmp_path: Path):
    file = tmp_path / "x.wav"
    with pytest.raises(DataError, match=r"44,100 samples per second(.|\n)*8,000, as data.source.sample_rate"):
        read_sound(wav(file, bytes(20), rate=44_100), 8000)
    with pytest.raises(DataError, match="it has no samples"):
        read_sound(wav(file, b""), 8000)
    for raw in (b"", b"ID3 this is an MP3 file", b"RIFF\x04\0\0\0WAVE", b"fLaC\0\0\0\x22" + bytes(34)):
        file.write_bytes(raw)
        with pytest.raises(DataError, match=r"This sound cannot be read: [^<\n]*\n"):
            read_sound(file, 8000)
    soundfile.write(file, np.array([0.5, np.nan]), 8000, subtype="FLOAT")
    with pytest.raises(DataError, match="not a finite number"):
        read_sound(file, 8000)


def test_sounds_of_other_widths_and_many_channels(tmp_path: Path):
    values = np.arange(-24, 24).reshape(8, 6) / 32
    for subtype in ("PCM_24", "FLOAT", "PCM_S8"):
        file = tmp_path / "x.flac" if subtype == "PCM_S8" else tmp_path / "x.wav"
        soundfile.write(file, values, 8000, subtype=subtype)
        assert np.allclose(read_sound(file, 8000), values.mean(axis=1), atol=1e-6)


@pytest.mark.parametrize("kind", ["flac", "ogg"])
def test_compressed_sounds(tmp_path: Path, kind: str):
    file = tmp_path / f"x.{kind}"
    sound = np.sin(np.arange(9000) / 20).astype(np.float32) / 2
    soundfile.write(file, sound, 8000)
    assert np.abs(read_sound(file, 8000) - sound).max() < (1e-4 if kind == "flac" else 0.05)
    raw = file.read_bytes()
    file.write_bytes(raw[: len(raw) // 2])
    with pytest.raises(DataError, match="This sound cannot be read"):
        read_sound(file, 8000)


def test_silence_that_is_packed_tightly_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "x.flac"
    soundfile.write(file, np.zeros(1_000_000, np.int16), 8000)
    assert file.stat().st_size < 50_000
    monkeypatch.setattr(sound_module, "LARGEST", 999_999)
    with pytest.raises(DataError, match="it has 1,000,000 samples"):
        read_sound(file, 8000)


@pytest.mark.parametrize(("module", "name"), [("PIL.Image", "Pillow"), ("soundfile", "soundfile")])
def test_a_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, name: str):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=f"need {name}, which is not installed") as caught:
        read_picture(tmp_path / "x.png") if module != name else read_sound(tmp_path / "x.wav", 8000)
    assert caught.value.hint == 'pip install "dragoman[signals]"'


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 43), st.integers(0, 255))
def test_a_damaged_head_of_a_sound_is_never_another_error(
    tmp_path_factory: pytest.TempPathFactory, place: int, value: int
):
    file = wav(tmp_path_factory.mktemp("wav") / "x.wav", bytes(range(20)))
    raw = bytearray(file.read_bytes())
    raw[place] = value
    file.write_bytes(raw)
    with suppress(DataError):
        assert 0 < len(read_sound(file, 8000)) <= 20


def test_series_of_numbers(tmp_path: Path):
    file = tmp_path / "x.npy"
    series = np.arange(12.0).reshape(4, 3)
    np.save(file, series)
    assert (read_numbers(file, 3) == series).all()
    np.save(file, np.asfortranarray(series.astype(np.int16)))
    assert (read_numbers(file, 3) == series).all()
    np.save(file, np.arange(4))
    assert (read_numbers(file, 1) == [[0], [1], [2], [3]]).all()


@pytest.mark.parametrize(
    ("array", "why"),
    [
        (np.zeros((4, 2)), r"its shape is \(4, 2\)"),
        (np.zeros((0, 3)), r"its shape is \(0, 3\)"),
        (np.zeros((2, 2, 3)), r"its shape is \(2, 2, 3\)"),
        (np.array(1.0), r"its shape is \(\)"),
        (np.array([[1.0, np.nan, 0.0]]), "a number is not finite"),
        (np.array([[1.0, -1e6, 0.0]]), "larger than 65,504"),
        (np.array([["a", "b", "c"]]), "not numbers"),
        (np.array([[None, {}, []]], dtype=object), "Object arrays cannot be loaded"),
        (b"\x93NUMPY", "reading magic string"),
        (b"PK\x03\x04 a zip", "magic string is not correct"),
        (b"", "reading magic string"),
        (b"\x93NUMPY\x01\x00\x04\x00[[[[", "EOF in multi-line statement"),  # of Python's tokenizer
        (b"\x93NUMPY\x01\x00\xff\xff" + b"[" * 65_535, "Header info length .* is large"),
    ],
)
def test_other_arrays_are_refused(tmp_path: Path, array: NDArray[np.generic] | bytes, why: str):
    file = tmp_path / "x.npy"
    if isinstance(array, bytes):
        file.write_bytes(array)
    else:
        np.save(file, array)
    with pytest.raises(DataError, match=why) as caught:
        read_numbers(file, 3)
    assert caught.value.where == str(file)


@pytest.mark.parametrize("steps", ["99999999", "9999999999", "9" * 30])
def test_a_huge_shape_is_refused(tmp_path: Path, steps: str):
    file = tmp_path / "x.npy"
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({steps}, 3), }}\n".encode()
    file.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(24))
    with pytest.raises(DataError, match="This series of numbers cannot be read"):
        read_numbers(file, 3)


@pytest.mark.parametrize(
    "read", [read_picture, lambda file: read_sound(file, 8000), lambda file: read_numbers(file, 1)]
)
def test_missing_files_and_folders(tmp_path: Path, read):
    with pytest.raises(DataError, match="There is no such file"):
        read(tmp_path / "none")
    with pytest.raises(DataError, match="This is a folder"):
        read(tmp_path)
