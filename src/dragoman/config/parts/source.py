"""What the sources are: text, pictures of text, sounds, or series of numbers.

Sources that are not text are files. A corpus gives their paths, relative to its own folder, instead of text.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from dragoman.config.section import Section

MaxFrames = Annotated[int, Field(ge=1, le=1 << 20)]


class TextSource(Section):
    """Text, as tokens."""

    kind: Literal["text"] = "text"


class PictureSource(Section):
    """Pictures (PNG, JPEG, TIFF, WebP), each of a line of text, as columns of grey values, left to right."""

    kind: Literal["picture"] = "picture"
    suffixes: ClassVar[tuple[str, ...]] = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp")
    height: int = Field(
        default=32, ge=8, le=512, description="Pixels of a column; pictures are scaled to this height."
    )
    max_frames: MaxFrames = Field(
        default=2000, description="Pictures with more columns than this are not used for training."
    )

    @property
    def frame_features(self) -> int:
        return self.height


class SoundSource(Section):
    """Sounds (WAV, FLAC, OGG), as log-mel frames of 25 ms every 10 ms."""

    kind: Literal["sound"] = "sound"
    suffixes: ClassVar[tuple[str, ...]] = (".wav", ".flac", ".ogg")
    sample_rate: int = Field(
        default=16000, ge=1000, le=384_000, description="Samples per second that every sound must have."
    )
    mels: int = Field(default=80, ge=1, le=512, description="Bands of the mel scale in a frame.")
    max_frames: MaxFrames = Field(
        default=3000, description="Sounds with more frames than this are not used for training."
    )

    @property
    def frame_features(self) -> int:
        return self.mels


class NumberSource(Section):
    """Series of numbers in .npy files, as they are."""

    kind: Literal["numbers"] = "numbers"
    suffixes: ClassVar[tuple[str, ...]] = (".npy",)
    features: int = Field(default=1, ge=1, le=65_535, description="Numbers in each step of a series.")
    max_frames: MaxFrames = Field(
        default=3000, description="Series with more steps than this are not used for training."
    )

    @property
    def frame_features(self) -> int:
        return self.features


SignalSource = PictureSource | SoundSource | NumberSource
SUFFIXES = PictureSource.suffixes + SoundSource.suffixes + NumberSource.suffixes
SourcePart = Annotated[TextSource | PictureSource | SoundSource | NumberSource, Field(discriminator="kind")]
