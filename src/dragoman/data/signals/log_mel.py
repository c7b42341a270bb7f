"""Log-mel frames: the energy of a sound in bands of equal width to the ear, every few milliseconds.

They are computed with numpy, so that exported models run without torch.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dragoman.data.signals.sound import Samples

LOWEST = 20.0  # Hz
FLOOR = 1e-10  # energy of silence, whose logarithm would be −∞


def log_mel(
    samples: Samples, rate: int, bands: int, *, window: float = 0.025, hop: float = 0.010
) -> NDArray[np.float32]:
    """Return log(M |X|²) of each frame, (S, bands), with mean 0 and variance 1 in each band.

    X is the short-time Fourier transform with a Hann window of `window` seconds every `hop` seconds, and M
    the filters of `mel_filters`. Sounds shorter than a window are padded with silence.
    """
    width, step = round(rate * window), round(rate * hop)
    size = 1 << (width - 1).bit_length()
    padded = np.pad(samples, (0, max(0, width - len(samples))))
    frames = np.lib.stride_tricks.sliding_window_view(padded, width)[::step]
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(width) / width)
    energy = np.abs(np.fft.rfft(frames * hann, size)) ** 2 @ mel_filters(rate, size, bands)
    x: NDArray[np.float64] = np.log(np.maximum(energy, FLOOR))
    normal: NDArray[np.float64] = (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-5)
    return normal.astype(np.float32)


@lru_cache(maxsize=8)
def mel_filters(rate: int, size: int, bands: int) -> NDArray[np.float64]:
    """Return M (size/2 + 1, bands): triangles whose corners have equal distances on the mel scale.

    Triangle b rises from 0 at f_{b−1} to 1 at f_b and falls to 0 at f_{b+1}   (Davis & Mermelstein 1980).
    """
    corners = hertz(np.linspace(mel(LOWEST), mel(rate / 2), bands + 2))
    f = np.arange(size // 2 + 1)[:, None] * (rate / size)
    low, centre, high = corners[:-2], corners[1:-1], corners[2:]
    return np.maximum(0.0, np.minimum((f - low) / (centre - low), (high - f) / (high - centre)))


def mel(f: float) -> float:
    """mel(f) = 2595 log₁₀(1 + f / 700)   (O'Shaughnessy 1987, as in HTK)."""
    return float(2595.0 * np.log10(1.0 + f / 700.0))


def hertz(m: NDArray[np.float64]) -> NDArray[np.float64]:
    """The inverse of `mel`."""
    return 700.0 * (10.0 ** (m / 2595.0) - 1.0)
