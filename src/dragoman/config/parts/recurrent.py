"""[model.encoder] and [model.decoder] of kind "rnn"."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from dragoman.config.section import Rate, Section, Size

FORMS_WITHOUT_ATTENTION = ("sutskever", "cho")


class RNNPart(Section):
    """What a recurrent encoder and a recurrent decoder have in common."""

    kind: Literal["rnn"] = "rnn"
    cell: Literal["elman", "lstm", "peephole-lstm", "coupled-lstm", "gru", "reset-first-gru"] = Field(
        default="lstm", description="The recurrent cell."
    )
    layers: int = Field(default=1, ge=1, le=32, description="How many layers.")
    width: Size | tuple[Size, ...] = Field(
        default=256,
        description="Features of the state (per direction): one number, or one for each layer, bottom first.",
    )
    embedding: int = Field(default=256, ge=1, description="Features of each token's embedding.")
    residual: bool = Field(
        default=False, description="A layer adds its input to its output, where both are equally wide."
    )
    norm: bool = Field(default=False, description="Layer norm of what each layer gives.")
    dropout: Rate = Field(
        default=0.2, description="Dropped share of embeddings, of each layer's output and of h̃."
    )
    variational: bool = Field(default=False, description="Drop the same features at every step.")

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
                f"width lists {len(self.widths)} sizes for layers = {self.layers}; give one for each layer, "
                f"or set layers = {len(self.widths)}"
            )
        return self


class RNNEncoderPart(RNNPart):
    """A recurrent encoder, read from both sides by default."""

    bidirectional: bool | Literal["bottom"] = Field(
        default=True,
        description='Read from the right as well: every layer, none, or the "bottom" one only.',
    )
    join: Literal["concat", "mean", "projection"] = Field(
        default="concat",
        description="How the states of both directions become one: [h→; h←], ½(h→ + h←) or W[h→; h←] + b.",
    )
    reversed_source: bool = Field(
        default=False, description="Read the source from its end only; needs bidirectional = false."
    )

    @property
    def gives(self) -> tuple[int, ...]:
        """Features that each layer gives to the next, bottom first."""
        doubled = [self.join == "concat" and self.reads_both_ways(layer) for layer in range(self.layers)]
        return tuple(width * (1 + double) for width, double in zip(self.widths, doubled, strict=True))

    @property
    def memory_features(self) -> int:
        return self.gives[-1]

    @property
    def shape(self) -> str:
        return self.wide + (", bidirectional" if self.bidirectional else "")

    def reads_both_ways(self, layer: int) -> bool:
        return self.bidirectional is True or (self.bidirectional == "bottom" and layer == 0)

    @model_validator(mode="after")
    def _one_way_is_reversed(self) -> RNNEncoderPart:
        if self.reversed_source and self.bidirectional:
            raise ValueError(
                "reversed_source reads from the end, and bidirectional from both sides already; "
                "set bidirectional = false, or reversed_source = false"
            )
        return self


class RNNDecoderPart(RNNPart):
    """A recurrent decoder: how it meets the source is its form."""

    form: Literal["sutskever", "cho", "bahdanau", "luong", "joined", "gnmt"] = Field(
        default="luong",
        description=(
            "How the source enters: in the first state only (sutskever), as one summary at every step (cho), "
            "by attention before the cell (bahdanau), after it (luong), before the output only (joined), or "
            "from the bottom layer to all others (gnmt)."
        ),
    )
    attention: Literal["additive", "multiplicative", "concat", "dot", "scaled-dot", "cosine"] = Field(
        default="multiplicative",
        description=(
            "The score of a source state: vᵀ tanh(W₁h + W₂s), sᵀWh, vᵀ tanh(W₁[s; h]), sᵀh, sᵀh/√d "
            "or β cos(s, h)."
        ),
    )
    input_feeding: bool = Field(
        default=True, description="In the form luong the attentional vector also enters the next step."
    )
    bridge: Literal["projected", "last", "zero"] = Field(
        default="projected",
        description=(
            "The first state: a projection of the encoder's summary, the encoder's last states layer by "
            "layer, or zeros."
        ),
    )
    share_cells: bool = Field(default=False, description="The decoder's cells are those of the encoder.")

    @property
    def attends(self) -> bool:
        """Whether a decoder of this kind says where it looks."""
        return self.form not in FORMS_WITHOUT_ATTENTION

    @property
    def features(self) -> int:
        """What the output layer reads: h̃."""
        return self.embedding

    @property
    def query_features(self) -> int:
        """The state that looks: the top layer's, but the bottom one's in GNMT."""
        return self.widths[0 if self.form == "gnmt" else -1]

    @property
    def shape(self) -> str:
        return self.wide + (f", {self.attention} attention" if self.attends else f", form {self.form}")

    def beside(self, layer: int, memory: int) -> int:
        """Features that stand beside the input of a layer."""
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

    def refuse(self, encoder: Section) -> None:
        """What cannot be with this encoder."""
        twin = encoder if isinstance(encoder, RNNEncoderPart) and not encoder.bidirectional else None
        if twin is not None and (twin.cell, twin.widths) != (self.cell, self.widths):
            twin = None
        if self.bridge == "last" and twin is None:
            raise ValueError(
                'bridge = "last" copies the state of each layer, so the encoder must be of kind "rnn" with '
                "bidirectional = false and have the decoder's cell, layers and width; give it these, or set "
                'decoder.bridge = "projected"'
            )
        if self.share_cells and (twin is None or twin.embedding != self.embedding or self.beside(0, 1)):
            raise ValueError(
                'share_cells makes the cells of both sides one, so the encoder must be of kind "rnn" with '
                "bidirectional = false and have the decoder's cell, layers, width and embedding, and nothing "
                "but the token may enter them: form sutskever, joined, or luong without input_feeding; "
                "change these, or set decoder.share_cells = false"
            )

    @model_validator(mode="after")
    def _something_of_the_source_arrives(self) -> RNNDecoderPart:
        if self.form == "sutskever" and self.bridge == "zero":
            raise ValueError(
                'form = "sutskever" knows the source by its first state only, and bridge = "zero" leaves it '
                'empty; set bridge = "projected" or "last"'
            )
        return self
