"""Settings of the output head: how the outputs of the decoder, or of the encoder, become probabilities."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, field_validator

from dragoman.config.section import Section

Cutoff = Annotated[int, Field(ge=1)]


class SoftmaxHeadPart(Section):
    """One softmax over the whole vocabulary."""

    kind: Literal["softmax"] = "softmax"
    reads_decoder: ClassVar[bool] = True


class SampledHeadPart(Section):
    """A softmax that is trained on a small sampled vocabulary per batch (Jean et al. 2015).

    The sampled vocabulary contains the target tokens of the batch and randomly drawn negatives. The training
    loss and its label smoothing use only these; validation and search use the whole vocabulary.
    """

    kind: Literal["sampled"] = "sampled"
    reads_decoder: ClassVar[bool] = True
    size: int = Field(default=4000, ge=1, description="Size of the vocabulary of each batch.")


class AdaptiveHeadPart(Section):
    """A softmax over frequent tokens, and smaller ones over clusters of rare tokens (Grave et al. 2017).

    A cluster is a range of ids, so the vocabulary must be sorted by frequency, as words, unigrams and
    characters are: new models of other units are refused. Label smoothing applies within each softmax. The
    output layer cannot share its matrix with embeddings: it needs model.tied = "none".
    """

    kind: Literal["adaptive"] = "adaptive"
    reads_decoder: ClassVar[bool] = True
    cutoffs: tuple[Cutoff, ...] = Field(
        default=(1000, 4000),
        min_length=1,
        description="Ids at which a new cluster begins; the first is the number of frequent tokens.",
    )
    shrink: int = Field(
        default=4, ge=1, description="Factor by which the feature size shrinks from each cluster to the next."
    )

    @field_validator("cutoffs")
    @classmethod
    def _cutoffs_rise(cls, cutoffs: tuple[int, ...]) -> tuple[int, ...]:
        if list(cutoffs) != sorted(set(cutoffs)):
            raise ValueError("each cutoff must be larger than the one before")
        return cutoffs


class FrameHeadPart(Section):
    """What the heads have in common that read a label or a blank from each frame of the source."""

    split: int = Field(
        default=1,
        ge=1,
        le=64,
        description="Frames made from each encoder state, for targets that are longer than their source.",
    )


class CTCHeadPart(FrameHeadPart):
    """Labels or a blank at each frame of the source, in its order and without a decoder (Graves et al. 2006).

    It is for task = "transcribe". A target needs as many frames as it has labels, and one more between equal
    labels.
    """

    kind: Literal["ctc"] = "ctc"
    reads_decoder: ClassVar[bool] = False


class JointHeadPart(FrameHeadPart):
    """CTC and a decoder with attention, trained together on one encoder (Watanabe et al. 2017)."""

    kind: Literal["ctc-attention"] = "ctc-attention"
    reads_decoder: ClassVar[bool] = True
    weight: float = Field(
        default=0.3, ge=0, le=1, description="The λ in λ log p_ctc + (1 − λ) log p_attention."
    )


class StateHeadPart(Section):
    """What the heads have in common that read the states of the encoder, without a decoder."""

    reads_decoder: ClassVar[bool] = False


class WordHeadPart(StateHeadPart):
    """What the heads of taggers have in common."""

    kind: str
    label: bool = Field(
        default=False,
        description=(
            "Also give the whole line a label, by model.pooling. A target line then begins with @ and its "
            "label: @PlayMusic O B-artist."
        ),
    )


class TagsHeadPart(WordHeadPart):
    """A softmax over the tags of each word by itself, for task = "tag"."""

    kind: Literal["tags"] = "tags"


class CRFHeadPart(WordHeadPart):
    """A linear-chain conditional random field over the tags of a line (Lample et al. 2016)."""

    kind: Literal["crf"] = "crf"
    constraints: bool = Field(
        default=True,
        description=(
            "Answer only with what IOB2 allows: I-x after B-x or I-x; other tags are free. Training on tags "
            "that are not IOB2 sets it to false in the model."
        ),
    )


class LabelHeadPart(StateHeadPart):
    """A softmax over the labels of a whole line, by model.pooling, for task = "classify"."""

    kind: Literal["label"] = "label"


HeadPart = Annotated[
    SoftmaxHeadPart
    | SampledHeadPart
    | AdaptiveHeadPart
    | CTCHeadPart
    | JointHeadPart
    | TagsHeadPart
    | CRFHeadPart
    | LabelHeadPart,
    Field(discriminator="kind"),
]
