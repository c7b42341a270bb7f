"""Settings of recurrent encoders and decoders: kind "rnn"."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, model_validator

from dragoman.config.parts.part import DecoderPart, EncoderPart, NetworkPart
from dragoman.config.section import Rate, Size

if TYPE_CHECKING:
    from dragoman.nn.embedding import Matrix
    from dragoman.protocols import Decoder, Encoder

FORMS_WITHOUT_ATTENTION = ("sutskever", "cho")
# Attention scores without a matrix between query and memory, which need equal widths.
EQUALLY_WIDE = ("dot", "scaled-dot", "cosine")


class RNNPart(NetworkPart):
    """Settings common to recurrent encoders and decoders."""

    kind: Literal["rnn"] = "rnn"
    cell: Literal["elman", "lstm", "peephole-lstm", "coupled-lstm", "gru", "reset-first-gru"] = Field(
        default="lstm", description="The recurrent cell."
    )
    layers: int = Field(default=1, ge=1, le=32, description="Number of layers.")
    width: Size | tuple[Size, ...] = Field(
        default=256,
        description="State size per direction: one number, or one per layer, bottom first.",
    )
    embedding: int = Field(default=256, ge=1, description="Embedding size.")
    residual: bool = Field(
        default=False,
        description="Residual connections around layers whose input and output have the same size.",
    )
    norm: bool = Field(default=False, description="Layer normalization of each layer's output.")
    dropout: Rate = Field(
        default=0.2, description="Dropout rate of embeddings, of each layer's output and of h̃."
    )
    variational: bool = Field(
        default=False, description="Variational dropout: drop the same features at every step."
    )

    @property
    def widths(self) -> tuple[int, ...]:
        """The width of each layer, bottom first."""
        return (self.width,) * self.layers if isinstance(self.width, int) else self.width

    @property
    def token_features(self) -> int:
        return self.embedding

    @property
    def longest(self) -> int | None:
        return None

    @property
    def name(self) -> str:
        return self.cell

    @property
    def wide(self) -> str:
        return "width " + "/".join(str(width) for width in dict.fromkeys(self.widths))

    @model_validator(mode="after")
    def _each_layer_has_a_width(self) -> RNNPart:
        if len(self.widths) != self.layers:
            raise ValueError(
                f"width lists {len(self.widths)} sizes for layers = {self.layers}; list one per layer "
                f"or set layers = {len(self.widths)}"
            )
        return self


class RNNEncoderPart(RNNPart, EncoderPart):
    """A recurrent encoder, bidirectional by default."""

    reads_end: ClassVar[bool] = True
    has_last_state: ClassVar[bool] = True
    has_cells: ClassVar[bool] = True

    bidirectional: bool | Literal["bottom"] = Field(
        default=True,
        description='Read in both directions: in every layer, in none, or in the "bottom" one only.',
    )
    join: Literal["concat", "mean", "projection"] = Field(
        default="concat",
        description="How the states of both directions are combined: [h→; h←], ½(h→ + h←) or W[h→; h←] + b.",
    )
    reversed_source: bool = Field(
        default=False, description="Read the source from right to left only; needs bidirectional = false."
    )

    @property
    def output_widths(self) -> tuple[int, ...]:
        """The output size of each layer, bottom first."""
        doubled = [self.join == "concat" and self.reads_both_ways(layer) for layer in range(self.layers)]
        return tuple(width * (1 + double) for width, double in zip(self.widths, doubled, strict=True))

    @property
    def memory_features(self) -> int:
        return self.output_widths[-1]

    @property
    def shape(self) -> str:
        return self.wide + (", bidirectional" if self.bidirectional else "")

    def reads_both_ways(self, layer: int) -> bool:
        return self.bidirectional is True or (self.bidirectional == "bottom" and layer == 0)

    def build_encoder(self, matrix: Matrix, *, returns_final_states: bool) -> Encoder:
        from dragoman.models.builders import recurrent

        return recurrent.build_encoder(self, matrix, returns_final_states=returns_final_states)

    @model_validator(mode="after")
    def _one_way_is_reversed(self) -> RNNEncoderPart:
        if self.reversed_source and self.bidirectional:
            raise ValueError(
                "reversed_source reads from right to left, which bidirectional already includes; "
                "set bidirectional = false or reversed_source = false"
            )
        return self


class RNNDecoderPart(RNNPart, DecoderPart):
    """A recurrent decoder; its form determines how it uses the source."""

    form: Literal["sutskever", "cho", "bahdanau", "luong", "joined", "gnmt"] = Field(
        default="luong",
        description=(
            "How the decoder uses the source: in the initial state only (sutskever), as one summary at every "
            "step (cho), or by attention: before the cell (bahdanau), after it (luong), before the output "
            "only (joined), or computed by the bottom layer for all layers (gnmt)."
        ),
    )
    attention: Literal["additive", "multiplicative", "concat", "dot", "scaled-dot", "cosine"] = Field(
        default="multiplicative",
        description=(
            "The attention score of a source state: vᵀ tanh(W₁h + W₂s), sᵀWh, vᵀ tanh(W₁[s; h]), sᵀh, sᵀh/√d "
            "or β cos(s, h)."
        ),
    )
    input_feeding: bool = Field(
        default=True, description="In the form luong, also feed the attentional vector to the next step."
    )
    bridge: Literal["projected", "last", "zero"] = Field(
        default="projected",
        description=(
            "The initial state: a projection of the encoder's summary, the encoder's last states layer by "
            "layer, or zeros."
        ),
    )
    share_cells: bool = Field(
        default=False, description="Share the recurrent cells between encoder and decoder."
    )

    @property
    def attends(self) -> bool:
        """Whether a decoder of this kind has attention."""
        return self.form not in FORMS_WITHOUT_ATTENTION

    @property
    def features(self) -> int:
        """The input size of the output layer: that of h̃."""
        return self.embedding

    @property
    def needs_final_states(self) -> bool:
        return self.bridge == "last"

    @property
    def row_norm(self) -> float:
        """The norm of the rows of the output matrix in a new network: larger where its features are small."""
        is_lstm = self.cell in ("lstm", "peephole-lstm", "coupled-lstm")
        if not is_lstm or self.form in ("cho", "bahdanau") or self.norm:
            return 1.0
        # Residual connections add up the layers, and they may add the embedding, whose rows are the same.
        return 2.0 if self.residual else self.embedding**0.5

    @property
    def query_features(self) -> int:
        """The size of the attention query: the state of the top layer, or of the bottom one in GNMT."""
        return self.widths[0 if self.form == "gnmt" else -1]

    @property
    def shape(self) -> str:
        return self.wide + (f", {self.attention} attention" if self.attends else f", form {self.form}")

    @property
    def shape_alone(self) -> str:
        return self.wide

    def extra_features(self, layer: int, memory: int) -> int:
        """Return the number of features concatenated to the input of a layer."""
        match self.form:
            case "gnmt":
                return memory
            case "bahdanau" if layer == 0:
                return memory
            case "cho" if layer == 0:
                return self.widths[-1]
            case "luong" if layer == 0 and self.input_feeding:
                return self.embedding
        return 0

    def build_decoder(self, matrix: Matrix, memory: int) -> Decoder:
        from dragoman.models.builders import recurrent

        return recurrent.build_decoder(self, matrix, memory)

    def build_causal(self, matrix: Matrix) -> Decoder:
        from dragoman.models.builders import recurrent

        return recurrent.build_causal(self, matrix)

    def refuse(self, encoder: EncoderPart) -> None:
        memory = encoder.memory_features
        if self.attends and self.attention in EQUALLY_WIDE and self.query_features != memory:
            raise ValueError(
                f"{self.attention} attention multiplies a decoder state of {self.query_features} "
                f"features by encoder states of {memory}; set decoder.width = {memory} "
                'or decoder.attention = "multiplicative", which has a matrix between them'
            )
        matching = encoder if isinstance(encoder, RNNEncoderPart) and not encoder.bidirectional else None
        if matching is not None and (matching.cell, matching.widths) != (self.cell, self.widths):
            matching = None
        if self.bridge == "last" and matching is None:
            raise ValueError(
                'bridge = "last" copies the state of each layer, so the encoder must be of kind "rnn" with '
                "bidirectional = false and have the decoder's cell, layers and width; change these, or set "
                'decoder.bridge = "projected"'
            )
        if self.share_cells and (
            matching is None or matching.embedding != self.embedding or self.extra_features(0, 1)
        ):
            raise ValueError(
                'share_cells uses the same cells on both sides, so the encoder must be of kind "rnn" with '
                "bidirectional = false and have the decoder's cell, layers, width and embedding, and the "
                "cells may read only the token: form sutskever, joined, or luong without input_feeding; "
                "change these, or set decoder.share_cells = false"
            )

    @model_validator(mode="after")
    def _something_of_the_source_arrives(self) -> RNNDecoderPart:
        if self.form == "sutskever" and self.bridge == "zero":
            raise ValueError(
                'form = "sutskever" sees the source only through its initial state, but bridge = "zero" '
                'leaves that empty; set bridge = "projected" or "last"'
            )
        return self
