"""Pictures as grey values, by Pillow.

Before a picture is unpacked, the size in its header is checked, and of a PNG the checksums.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.data.readers.open_file import opened, readable
from dragoman.errors import DataError, needs_extra

Grey = NDArray[np.uint8]  # (height, width), 0 is black

FORMATS = ("PNG", "JPEG", "TIFF", "WEBP")  # Pillow has many more, some of which run other programs
LARGEST_FILE, PIXELS = 1 << 26, 1 << 24


def read_picture(file: Path) -> Grey:
    """Return the grey values as a viewer shows them: turned as a camera was held, transparent on white."""
    pillow("PIL.Image")
    with opened(file) as stream, readable(file):
        raw = stream.read(LARGEST_FILE + 1)
    try:
        if len(raw) > LARGEST_FILE:
            raise ValueError(f"the file has more than {LARGEST_FILE:,} bytes")
        identified(raw).verify()
        return grey(identified(raw))
    except Exception as error:  # each format has its own
        raise DataError(
            f"This picture cannot be read: {error}.",
            where=str(file),
            expected=f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}, of at most {PIXELS:,} pixels",
            hint=f"Write it again as PNG: magick {file} new.png",
        ) from None


def write_picture(file: Path, grey: Grey) -> None:
    pillow("PIL.Image").fromarray(grey).save(file)


def identified(raw: bytes) -> Any:
    """Return a picture of which only the header is read."""
    image = pillow("PIL.Image")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it has many pixels, which is checked here
            picture = image.open(BytesIO(raw), formats=FORMATS)
    except image.UnidentifiedImageError:
        raise ValueError("it is not a picture in one of these formats") from None
    if picture.width * picture.height > PIXELS:
        raise ValueError(f"its size is {picture.width:,} × {picture.height:,} pixels")
    return picture


def grey(picture: Any) -> Grey:
    image = pillow("PIL.Image")
    picture = pillow("PIL.ImageOps").exif_transpose(picture)
    if picture.mode.startswith("I"):  # 16 bits; Pillow would make white of all that is above 255
        return (np.asarray(picture) >> 8).astype(np.uint8)
    if picture.has_transparency_data:
        white = image.new("RGBA", picture.size, "white")
        picture = image.alpha_composite(white, picture.convert("RGBA"))
    return np.asarray(picture.convert("L"))


def pillow(name: str) -> Any:
    with needs_extra("Pictures need Pillow, which is not installed.", "signals"):
        return import_module(name)
