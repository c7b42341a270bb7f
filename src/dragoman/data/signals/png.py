"""PNG pictures as grey values (ISO/IEC 15948), with numpy and zlib alone.

The size in the header is checked before anything is unpacked, and exactly its bytes are unpacked.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.data.readers.open_file import opened, readable
from dragoman.errors import DataError

Grey = NDArray[np.uint8]  # (height, width), 0 is black

SIGNATURE = b"\x89PNG\r\n\x1a\n"
LARGEST_FILE, PIXELS = 1 << 26, 1 << 24
# By colour type: the samples of a pixel and the bits that each may have.
GREY, RGB, PALETTE, GREY_ALPHA, RGB_ALPHA = 0, 2, 3, 4, 6
SAMPLES = {GREY: 1, RGB: 3, PALETTE: 1, GREY_ALPHA: 2, RGB_ALPHA: 4}
DEPTHS = {
    GREY: (1, 2, 4, 8, 16),
    PALETTE: (1, 2, 4, 8),
    RGB: (8, 16),
    GREY_ALPHA: (8, 16),
    RGB_ALPHA: (8, 16),
}
LUMA = np.array([299, 587, 114])  # thousandths of red, green and blue (ITU-R BT.601)


def read_png(file: Path) -> Grey:
    with opened(file) as stream, readable(file):
        raw = stream.read(LARGEST_FILE + 1)
    try:
        return decode(raw)
    except (ValueError, struct.error, zlib.error) as error:
        raise DataError(
            f"This picture cannot be read: {error}.",
            where=str(file),
            expected=f"a PNG file without interlacing, of at most {PIXELS:,} pixels",
            hint=f"Write it again as PNG: magick {file} -interlace none new.png",
        ) from None


def write_png(file: Path, grey: Grey) -> None:
    height, width = grey.shape
    rows = np.pad(grey, ((0, 0), (1, 0)))  # each row begins with the number of its filter, 0: none
    header = struct.pack(">IIBBBBB", width, height, 8, GREY, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b""))
    file.write_bytes(SIGNATURE + b"".join(chunk(kind, content) for kind, content in parts))


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def decode(raw: bytes) -> Grey:
    if raw[:8] != SIGNATURE:
        raise ValueError("it is not a PNG file")
    if len(raw) > LARGEST_FILE:
        raise ValueError(f"the file has more than {LARGEST_FILE:,} bytes")
    found: dict[bytes, bytes] = {}
    for kind, content in chunks(raw):
        if kind in (b"IHDR", b"PLTE", b"IDAT"):
            found[kind] = found.get(kind, b"") + content
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", found.get(b"IHDR", b""))
    if not width or not height or width * height > PIXELS:
        raise ValueError(f"its size is {width:,} × {height:,} pixels")
    if depth not in DEPTHS.get(colour, ()) or interlaced:
        raise ValueError("it is interlaced" if interlaced else f"its colour type is {colour}, {depth} bits")
    bits = SAMPLES[colour] * depth
    row = -(-width * bits // 8)
    unpacker = zlib.decompressobj()
    packed = unpacker.decompress(found.get(b"IDAT", b""), height * (row + 1) + 1)
    if len(packed) != height * (row + 1) or not unpacker.eof:
        raise ValueError("its data does not have the size that its header says")
    rows = unfiltered(np.frombuffer(packed, np.uint8).reshape(height, row + 1), max(1, bits // 8))
    return to_grey(samples(rows, depth, width * SAMPLES[colour]), colour, depth, found.get(b"PLTE", b""))


def chunks(raw: bytes) -> Iterator[tuple[bytes, bytes]]:
    at, kind = len(SIGNATURE), b""
    while kind != b"IEND":
        size, kind = struct.unpack(">I4s", raw[at : at + 8])
        content, crc = raw[at + 8 : at + 8 + size], raw[at + 8 + size : at + 12 + size]
        if crc != struct.pack(">I", zlib.crc32(kind + content)):
            raise ValueError("it is truncated" if len(crc) < 4 else "it is damaged: a checksum is wrong")
        yield kind, content
        at += 12 + size


def unfiltered(rows: Grey, step: int) -> Grey:
    """Return the rows without their filters, which predict a byte by those to the left and above."""
    out = np.zeros((len(rows) + 1, rows.shape[1] - 1), np.uint8)
    for number, (filter_type, row) in enumerate(zip(rows[:, 0].tolist(), rows[:, 1:], strict=True), start=1):
        above = out[number - 1]
        match filter_type:
            case 0:
                out[number] = row
            case 1:
                out[number] = row.reshape(-1, step).cumsum(axis=0, dtype=np.uint8).ravel()
            case 2:
                out[number] = row + above
            case 3 | 4:
                predict = average if filter_type == 3 else paeth
                out[number] = predict(row.tobytes(), above.tobytes(), step)
            case _:
                raise ValueError(f"its row {number} has the unknown filter {filter_type}")
    return out[1:]


def average(row: bytes, above: bytes, step: int) -> Grey:
    out = bytearray(step)
    for place, (x, b) in enumerate(zip(row, above, strict=True)):
        out.append(x + (out[place] + b) // 2 & 255)
    return np.frombuffer(out, np.uint8)[step:]


def paeth(row: bytes, above: bytes, step: int) -> Grey:
    """The prediction is that of left (a), above (b) and above left (c) which is nearest to a + b − c."""
    out = bytearray(step)
    for place, (x, b, c) in enumerate(zip(row, above, bytes(step) + above, strict=False)):
        a = out[place]
        to_a, to_b, to_c = abs(b - c), abs(a - c), abs(a + b - c - c)
        out.append(x + (a if to_a <= to_b and to_a <= to_c else b if to_b <= to_c else c) & 255)
    return np.frombuffer(out, np.uint8)[step:]


def samples(rows: Grey, depth: int, count: int) -> Grey:
    """Return one byte per sample: the higher byte of 16 bits, or the number in fewer than 8 bits."""
    if depth == 16:
        return rows[:, ::2]
    if depth == 8:
        return rows
    bits = np.unpackbits(rows, axis=1)[:, : count * depth].reshape(len(rows), count, depth)
    return np.right_shift(np.packbits(bits, axis=2)[..., 0], 8 - depth, dtype=np.uint8)


def to_grey(values: Grey, colour: int, depth: int, palette: bytes) -> Grey:
    """Return grey values; transparent pixels are white."""
    pixels = values.reshape(len(values), -1, SAMPLES[colour])
    if colour == PALETTE:
        table = np.frombuffer(palette, np.uint8).reshape(-1, 3)
        if pixels.max() >= len(table):
            raise ValueError("a pixel has a colour that is not in its palette")
        pixels = table[pixels[..., 0]]
    grey = (pixels[..., :3] @ LUMA + 500) // 1000 if colour in (RGB, PALETTE, RGB_ALPHA) else pixels[..., 0]
    if colour in (GREY_ALPHA, RGB_ALPHA):
        alpha = pixels[..., -1].astype(np.int64)
        grey = (grey * alpha + 255 * (255 - alpha) + 127) // 255
    return (grey * (255 // (2**depth - 1) if depth < 8 and colour == GREY else 1)).astype(np.uint8)
