"""Encoders and decoders in the settings: what others ask of them, and how they are built.

Others ask these facts, never the class. What builds a part imports its module where it stands, so that
settings are read without torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from dragoman.config.section import Section

if TYPE_CHECKING:
    from dragoman.nn.embedding import Matrix
    from dragoman.protocols import Decoder, Encoder


class NetworkPart(Section):
    """Facts about encoders and decoders."""

    if TYPE_CHECKING:  # fields or properties of each kind

        @property
        def kind(self) -> str: ...

        @property
        def name(self) -> str:
            """The name in messages and tables, such as that of the cell."""

        @property
        def shape(self) -> str:
            """The sizes, in words."""

        @property
        def layers(self) -> int: ...

        @property
        def token_features(self) -> int:
            """The features of an embedding."""

        @property
        def longest(self) -> int | None:
            """The maximum number of tokens, or None if unlimited."""

        # Of those that read or write something:

        @property
        def width(self) -> int | tuple[int, ...]: ...

        @property
        def dropout(self) -> float: ...

    @property
    def shape_alone(self) -> str:
        """The sizes in a model without a source."""
        return self.shape


class EncoderPart(NetworkPart):
    reads_source: ClassVar[bool] = True
    per_token: ClassVar[bool] = True  # a state for each token; else one for the whole line
    only_for_labels: ClassVar[bool] = False
    has_last_state: ClassVar[bool] = False  # which has seen the whole line
    has_cells: ClassVar[bool] = False

    if TYPE_CHECKING:

        @property
        def reads_end(self) -> bool:
            """Whether the </s> after a source is read."""

        @property
        def memory_features(self) -> int:
            """The features of a state."""

    @property
    def summary_features(self) -> int:
        """The features of what stands for the whole line."""
        return self.memory_features

    @property
    def is_summary(self) -> bool:
        """Whether a decoder reads one vector for the whole source."""
        return not self.per_token and not self.only_for_labels

    def build_encoder(self, matrix: Matrix, *, returns_final_states: bool) -> Encoder:
        """Return it with new weights; `matrix` embeds its tokens."""
        raise NotImplementedError


class DecoderPart(NetworkPart):
    if TYPE_CHECKING:

        @property
        def features(self) -> int:
            """The input size of the output layer."""

        @property
        def attends(self) -> bool:
            """Whether a decoder of this kind has attention."""

        @property
        def share_cells(self) -> bool:
            """Whether its cells are those of the encoder."""

    @property
    def needs_final_states(self) -> bool:
        """Whether it begins with the states in which each layer of the encoder ended."""
        return False

    @property
    def row_norm(self) -> float:
        """The norm of the rows of the output matrix in a new network."""
        return 1.0

    def refuse(self, encoder: EncoderPart) -> None:
        """Raise ValueError if the decoder is incompatible with this encoder."""

    def build_decoder(self, matrix: Matrix, memory: int) -> Decoder:
        """Return it with new weights, for a memory with this many features."""
        raise NotImplementedError

    def build_causal(self, matrix: Matrix) -> Decoder:
        """Return it without a source, for a language model."""
        raise NotImplementedError
