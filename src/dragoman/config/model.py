"""The [model] section: encoder, decoder, embeddings and output head."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from dragoman.config.parts.embedding import EmbeddingPart, FramePart, SourceEmbeddingPart, TableEmbeddingPart
from dragoman.config.parts.head import (
    AdaptiveHeadPart,
    FrameHeadPart,
    HeadPart,
    LabelHeadPart,
    SoftmaxHeadPart,
    WordHeadPart,
)
from dragoman.config.parts.part import DecoderPart, EncoderPart, NetworkPart
from dragoman.config.parts.pooling import LastPoolingPart, PoolingPart, QueryPoolingPart
from dragoman.config.parts.transformer import TransformerPart
from dragoman.config.section import ByKind, Section
from dragoman.registry import Registry

LONGEST = 1024  # tokens, for models without a limit of their own

PARTS = "dragoman.config.parts"
ENCODERS: Registry[type[EncoderPart]] = Registry(
    "encoders",
    {
        "transformer": f"{PARTS}.transformer:TransformerPart",
        "rnn": f"{PARTS}.recurrent:RNNEncoderPart",
        "conv": f"{PARTS}.convolution:ConvPart",
        "kalchbrenner": f"{PARTS}.convolution:KalchbrennerPart",
        "dense": f"{PARTS}.sentence:DensePart",
        "multi-kernel": f"{PARTS}.sentence:MultiKernelPart",
        "none": f"{PARTS}.no_encoder:NoEncoderPart",
    },
)
DECODERS: Registry[type[DecoderPart]] = Registry(
    "decoders",
    {
        "transformer": f"{PARTS}.transformer:TransformerPart",
        "rnn": f"{PARTS}.recurrent:RNNDecoderPart",
        "conv": f"{PARTS}.convolution:ConvPart",
    },
)


class ModelConfig(Section):
    preset: str = Field(
        default="auto",
        description='A named size, or "auto" for one by data and machine; the fields below override it.',
    )
    why: str = Field(default="", description='Why "auto" chose this preset.')
    encoder: Annotated[EncoderPart, ByKind(ENCODERS)] = Field(
        default=TransformerPart(), description="The network that reads the source."
    )
    decoder: Annotated[DecoderPart, ByKind(DECODERS)] = Field(
        default=TransformerPart(), description="The network that generates the target."
    )
    tied: Literal["all", "target", "none"] = Field(
        default="all",
        description=(
            "Share one embedding matrix between source, target and output (needs a joint vocabulary), "
            "between target and output, or not at all."
        ),
    )
    src_embedding: SourceEmbeddingPart = Field(
        default=TableEmbeddingPart(),
        description="How a source token, or the frames of a picture or a sound, become vectors.",
    )
    tgt_embedding: EmbeddingPart = Field(
        default=TableEmbeddingPart(),
        description="How a previously generated target token becomes a vector.",
    )
    head: HeadPart = Field(default=SoftmaxHeadPart(), description="How decoder outputs become probabilities.")

    pooling: PoolingPart = Field(
        default=QueryPoolingPart(),
        description="How the states of a line become one vector, for heads that give a line a label.",
    )

    @property
    def parts(self) -> dict[str, NetworkPart]:
        """The encoder and the decoder, or the one that the network has."""
        found: dict[str, NetworkPart] = {}
        if self.encoder.reads_source:
            found["encoder"] = self.encoder
        if self.head.reads_decoder:
            found["decoder"] = self.decoder
        return found

    @property
    def is_ours(self) -> bool:
        """Whether no part is of another package."""
        return self.encoder.kind in ENCODERS.ours and self.decoder.kind in DECODERS.ours

    @property
    def brief(self) -> str:
        """The names of the parts: "transformer encoder, transformer decoder"."""
        names = [f"{part.name} {kind}" for kind, part in self.parts.items()]
        return ", ".join(
            names if isinstance(self.head, SoftmaxHeadPart) else [*names, f"{self.head.kind} head"]
        )

    @property
    def longest_source(self) -> int:
        """The maximum number of source tokens, excluding </s>."""
        return (self.encoder.longest or LONGEST) - 1

    @property
    def longest_target(self) -> int:
        """The maximum number of target tokens, including </s>."""
        return (self.head.reads_decoder and self.decoder.longest) or LONGEST

    @model_validator(mode="after")
    def _shared_matrices_are_of_one_width(self) -> ModelConfig:
        source, target, output = (
            self.encoder.token_features,
            self.decoder.token_features,
            self.decoder.features,
        )
        if not self.head.reads_decoder:
            return self
        if self.tied != "none" and target != output:
            raise ValueError(
                f'tied = "{self.tied}" shares one matrix between target embeddings of {target} features and '
                f'an output of {output}; make them equal or set model.tied = "none"'
            )
        if self.tied == "all" and source != target:
            raise ValueError(
                f'tied = "all" shares one matrix between source embeddings of {source} features and target '
                f'embeddings of {target}; make them equal or set model.tied = "target"'
            )
        return self

    @model_validator(mode="after")
    def _only_tables_are_shared(self) -> ModelConfig:
        if not self.head.reads_decoder:
            return self
        if self.tied != "none" and self.tgt_embedding.kind == "characters":
            raise ValueError(
                'tgt_embedding.kind = "characters" has no table to share with the output; '
                'set model.tied = "none"'
            )
        if self.tied == "all" and self.src_embedding.kind != "table":
            raise ValueError(
                f'src_embedding.kind = "{self.src_embedding.kind}" has no table to share with the target; '
                'set model.tied = "target"'
            )
        return self

    @model_validator(mode="after")
    def _frames_have_no_end(self) -> ModelConfig:
        if isinstance(self.src_embedding, FramePart) and not self.encoder.reads_end:
            raise ValueError("encoder.reads_end is about </s>, which frames do not have; set it to true")
        return self

    @model_validator(mode="after")
    def _clusters_have_features_of_their_own(self) -> ModelConfig:
        if not isinstance(self.head, AdaptiveHeadPart):
            return self
        if self.tied != "none":
            raise ValueError(
                'head.kind = "adaptive" cannot share a matrix with embeddings; set model.tied = "none"'
            )
        features, shrink, clusters = self.decoder.features, self.head.shrink, len(self.head.cutoffs)
        if features < shrink**clusters:
            raise ValueError(
                f"cluster {clusters} of head.cutoffs has {features} / {shrink}^{clusters} features, "
                f"which is less than one; use fewer cutoffs or a smaller head.shrink"
            )
        return self

    @model_validator(mode="after")
    def _decoder_takes_the_encoder(self) -> ModelConfig:
        if self.head.reads_decoder:
            self.decoder.refuse(self.encoder)
        return self

    @model_validator(mode="after")
    def _frames_need_a_state_per_token(self) -> ModelConfig:
        if isinstance(self.head, FrameHeadPart) and self.encoder.is_summary:
            raise ValueError(
                f'head.kind = "{self.head.kind}" reads a state for each step of the source, but the '
                f"{self.encoder.name} encoder has one for the whole source; choose another encoder"
            )
        return self

    @model_validator(mode="after")
    def _tags_need_a_state_per_token(self) -> ModelConfig:
        if isinstance(self.head, WordHeadPart) and not self.encoder.per_token:
            raise ValueError(
                f'head.kind = "{self.head.kind}" reads a state for each word, but the {self.encoder.name} '
                "encoder has one for the whole line; choose another encoder"
            )
        return self

    @model_validator(mode="after")
    def _summaries_are_not_pooled(self) -> ModelConfig:
        if not self.head_reads_pooling:
            if self.encoder.only_for_labels:
                raise ValueError(
                    f"the {self.encoder.name} encoder is for classification; choose another encoder, "
                    'or set task = "classify"'
                )
            return self
        if not self.encoder.per_token and not isinstance(self.pooling, LastPoolingPart):
            raise ValueError(
                f"the {self.encoder.name} encoder has one vector for the whole line, which needs no pooling; "
                'set pooling.kind = "last"'
            )
        if self.pooling.kind == "last" and not self.encoder.has_last_state:
            raise ValueError(
                f'pooling.kind = "last" needs a recurrent encoder, but this one is {self.encoder.name}; '
                'set pooling.kind = "query"'
            )
        return self

    @property
    def head_reads_pooling(self) -> bool:
        """Whether the head gives a line a label."""
        return isinstance(self.head, LabelHeadPart) or (
            isinstance(self.head, WordHeadPart) and self.head.label
        )
