"""Frames are what their equations say: scaled columns of ink, and log-mel energies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.config.parts.source import NumberSource, PictureSource, SoundSource
from dragoman.data.signals.build import frame_dtype, read_frames
from dragoman.data.signals.columns import ink_columns, scaled_rows
from dragoman.data.signals.log_mel import FLOOR, hertz, log_mel, mel, mel_filters
from dragoman.data.signals.picture import write_picture
from dragoman.data.signals.sound import write_sound

RNG = np.random.default_rng(0)


def test_columns_run_from_left_to_right_and_ink_is_255():
    picture = np.full((8, 3), 255, np.uint8)
    picture[0, 2] = 0  # a black pixel, top right
    columns = ink_columns(picture, 8)
    assert columns.shape == (3, 8)
    assert columns[2, 0] == 255
    assert columns.sum() == 255


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 40), st.integers(1, 40))
def test_scaling_is_the_mean_of_what_is_covered(rows: int, count: int):
    x = np.random.default_rng(rows * 41 + count).normal(size=(rows, 2))
    fine = np.repeat(x, count, axis=0).reshape(count, rows, 2)  # `count` copies of each row, `rows` at a time
    assert np.allclose(scaled_rows(x, count), fine.mean(axis=1))


def test_log_mel_is_the_logarithm_of_torchs_stft_through_the_filters():
    samples = RNG.normal(size=3000).astype(np.float32)
    x = torch.from_numpy(samples).double()
    hann = torch.hann_window(200, dtype=torch.float64)
    # torch has the window of 200 samples in the middle of 256.
    padded = torch.nn.functional.pad(x, (28, 28))
    X = torch.stft(padded, 256, 80, 200, hann, center=False, return_complex=True).abs().square().T.numpy()
    expected = np.log(np.maximum(X @ mel_filters(8000, 256, 40), FLOOR))
    expected = (expected - expected.mean(axis=0)) / expected.std(axis=0)
    assert np.allclose(log_mel(samples, 8000, 40), expected, atol=1e-3)


@pytest.mark.parametrize(("rate", "bands"), [(8000, 40), (8000, 80), (16000, 80), (44100, 80)])
def test_filters_are_triangles_on_the_mel_scale(rate: int, bands: int):
    size = 1 << (round(rate * 0.025) - 1).bit_length()
    M = mel_filters(rate, size, bands)
    assert (M.sum(axis=0) > 0).all(), "a band hears nothing"
    corners = hertz(np.linspace(mel(20), mel(rate / 2), bands + 2))
    f = np.arange(size // 2 + 1) * rate / size
    for band in (0, bands // 2, bands - 1):
        triangle = np.interp(f, corners[band : band + 3], [0.0, 1.0, 0.0])
        assert np.allclose(M[:, band], triangle)
    assert mel(1000) == pytest.approx(1000, abs=0.1)  # the scale's definition


def test_a_tone_is_loudest_in_its_band():
    t = np.arange(8000) / 8000
    sweep = np.concatenate([np.sin(2 * np.pi * f * t[:2000]) for f in (500, 1500, 3000)]).astype(np.float32)
    frames = log_mel(sweep, 8000, 40)
    centres = hertz(np.linspace(mel(20), mel(4000), 42))[1:-1]
    for at, f in ((10, 500), (35, 1500), (60, 3000)):
        assert abs(centres[frames[at].argmax()] - f) < 200


def test_the_volume_and_a_sound_shorter_than_a_window():
    samples = RNG.normal(size=4000).astype(np.float32)
    assert np.allclose(log_mel(samples, 8000, 40), log_mel(samples / 7, 8000, 40), atol=1e-3)
    assert log_mel(samples[:3], 8000, 40).shape == (1, 40)
    silence = log_mel(np.zeros(4000, np.float32), 8000, 40)
    assert np.isfinite(silence).all()
    assert np.abs(silence).max() < 1e-6


def test_frames_of_files(tmp_path: Path):
    write_picture(tmp_path / "x.png", RNG.integers(0, 256, (64, 100), dtype=np.uint8))
    write_sound(tmp_path / "x.wav", RNG.normal(size=4000).astype(np.float32) / 9, 8000)
    np.save(tmp_path / "x.npy", RNG.normal(size=(9, 5)))
    for source, name, shape in (
        (PictureSource(height=32), "x.png", (50, 32)),
        (SoundSource(sample_rate=8000, mels=40), "x.wav", (48, 40)),
        (NumberSource(features=5), "x.npy", (9, 5)),
    ):
        frames = read_frames(source, tmp_path / name)
        assert frames.shape == shape
        assert shape[1] == source.frame_features
        assert frames.dtype == np.dtype(frame_dtype(source))
