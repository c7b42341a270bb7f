"""Build a network from a ModelConfig; `builders` has one module per family of architectures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

import torch
from torch import nn

from dragoman.config.model import DecoderPart, EncoderPart, ModelConfig
from dragoman.config.parts.convolution import ConvPart, KalchbrennerPart
from dragoman.config.parts.embedding import FramePart
from dragoman.config.parts.head import CTCHeadPart, JointHeadPart
from dragoman.config.parts.no_encoder import NoEncoderPart
from dragoman.config.parts.recurrent import RNNDecoderPart, RNNEncoderPart
from dragoman.config.parts.sentence import DensePart, MultiKernelPart
from dragoman.config.parts.transformer import TransformerPart
from dragoman.config.root import Config
from dragoman.errors import ConfigError
from dragoman.models.builders import convolution, recurrent, transformer
from dragoman.models.builders.embedding import Spelling, build_embedding, build_frames
from dragoman.models.builders.head import build_head
from dragoman.models.builders.states import build_heads
from dragoman.models.classifier import Classifier
from dragoman.models.ctc import CTC, JointCTC
from dragoman.models.encoders.frames import FrameEncoder
from dragoman.models.encoders.sentence import DeepAveragingEncoder, MultiKernelEncoder
from dragoman.models.heads.ctc import CTCHead
from dragoman.models.language_model import LanguageModel
from dragoman.models.seq2seq import Seq2Seq
from dragoman.models.tagger import JointTagger, Tagger
from dragoman.nn.embedding import Matrix, PlainEmbedding
from dragoman.protocols import Decoder, Encoder, Network


def build_network(
    config: Config, src_size: int, tgt_size: int, *, src_spelling: Spelling, tgt_spelling: Spelling
) -> Network:
    """Return the network of a task, with new weights."""
    model, training = config.model, config.training
    if config.task == "lm":
        return build_language_model(
            model, tgt_size, smoothing=training.label_smoothing, seed=training.seed, spelling=tgt_spelling
        )
    if isinstance(model.head, CTCHeadPart):
        return build_ctc(model, src_size, tgt_size, seed=training.seed, src_spelling=src_spelling)
    return build_model(
        model,
        src_size,
        tgt_size,
        smoothing=training.label_smoothing,
        seed=training.seed,
        src_spelling=src_spelling,
        tgt_spelling=tgt_spelling,
    )


def build_model(
    config: ModelConfig,
    src_size: int,
    tgt_size: int,
    *,
    smoothing: float,
    seed: int,
    src_spelling: Spelling = (),
    tgt_spelling: Spelling = (),
) -> Seq2Seq:
    """Return a model with new weights, which depend on the seed alone.

    `src_size` is the size of the source vocabulary, or the numbers of a frame if the source is not text.
    Spellings are needed only for character-based embeddings.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        target = config.decoder.token_features
        tgt_matrix = build_embedding(config.tgt_embedding, tgt_size, target, tgt_spelling)
        shared = tgt_matrix if config.tied == "all" else None
        returns_final_states = isinstance(config.decoder, RNNDecoderPart) and config.decoder.bridge == "last"
        encoder = build_reader(
            config, src_size, src_spelling, shared, returns_final_states=returns_final_states
        )
        decoder = build_decoder(config.decoder, tgt_matrix, config.encoder.memory_features)
        if isinstance(config.decoder, RNNDecoderPart) and config.decoder.share_cells:
            recurrent.share_cells(encoder, decoder)
        head = build_head(config, tgt_size, tgt_matrix, smoothing)
        if isinstance(config.head, JointHeadPart):
            ctc = CTCHead(config.encoder.memory_features, tgt_size, config.head.split)
            return JointCTC(encoder, decoder, head, ctc, config.head.weight)
        return Seq2Seq(encoder, decoder, head)


def build_ctc(
    config: ModelConfig, src_size: int, tgt_size: int, *, seed: int, src_spelling: Spelling = ()
) -> CTC:
    """Return a model without a decoder, for head.kind = "ctc"."""
    assert isinstance(config.head, CTCHeadPart)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        encoder = build_reader(config, src_size, src_spelling)
        return CTC(encoder, CTCHead(config.encoder.memory_features, tgt_size, config.head.split))


def build_reader(
    config: ModelConfig,
    src_size: int,
    spelling: Spelling,
    shared: Matrix | None = None,
    *,
    returns_final_states: bool = False,
) -> Encoder:
    """Return the encoder with what makes vectors of its source; `shared` is a matrix to use for tokens."""
    part, size = config.src_embedding, config.encoder.token_features
    if isinstance(part, FramePart):
        frames = build_frames(part, src_size, size)
        reader = build_encoder(config.encoder, nn.Identity(), returns_final_states=returns_final_states)
        return FrameEncoder(frames, reader)
    matrix = build_embedding(part, src_size, size, spelling) if shared is None else shared
    return build_encoder(config.encoder, matrix, returns_final_states=returns_final_states)


def build_language_model(
    config: ModelConfig, size: int, *, smoothing: float, seed: int, spelling: Spelling = ()
) -> LanguageModel:
    """Return a language model with new weights: `config.decoder` without a source, and the head."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        matrix = build_embedding(config.tgt_embedding, size, config.decoder.token_features, spelling)
        decoder = build_causal(config.decoder, matrix)
        return LanguageModel(decoder, build_head(config, size, matrix, smoothing))


def build_causal(part: DecoderPart, matrix: Matrix) -> Decoder:
    match part:
        case TransformerPart():
            return transformer.build_causal(part, matrix)
        case RNNDecoderPart():
            return recurrent.build_causal(part, matrix)
        case ConvPart():
            raise ConfigError(
                "A language model cannot have a convolutional decoder: its blocks attend to a source.",
                where="model.decoder.kind",
                expected="transformer or rnn",
                hint="model.decoder.kind=transformer",
            )
        case _:
            assert_never(part)


def build_state_model(
    config: ModelConfig,
    src_size: int,
    tgt_entries: Sequence[str],
    *,
    smoothing: float,
    seed: int,
    src_spelling: Spelling = (),
) -> Tagger | JointTagger | Classifier:
    """Return a model without a decoder, for the heads of taggers and classifiers."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return build_heads(config, build_reader(config, src_size, src_spelling), tgt_entries, smoothing)


def build_encoder(part: EncoderPart, matrix: Matrix, *, returns_final_states: bool) -> Encoder:
    match part:
        case TransformerPart():
            return transformer.build_encoder(part, matrix)
        case RNNEncoderPart():
            return recurrent.build_encoder(part, matrix, returns_final_states=returns_final_states)
        case ConvPart():
            return convolution.build_encoder(part, matrix)
        case KalchbrennerPart():
            return convolution.build_sentence_encoder(part, matrix)
        case DensePart():
            sizes = (part.embedding, *(part.width for _ in range(part.layers)))
            embed = PlainEmbedding(matrix, part.dropout)
            return DeepAveragingEncoder(embed, sizes, part.dropout, part.word_dropout)
        case MultiKernelPart():
            embed = PlainEmbedding(matrix, part.dropout)
            return MultiKernelEncoder(embed, part.embedding, part.kernels, part.filters, part.dropout)
        case NoEncoderPart():
            raise ConfigError(
                "A model that reads a source needs an encoder.",
                where="model.encoder.kind",
                expected="transformer, rnn, conv or kalchbrenner",
                hint="model.encoder.kind=transformer, or task=lm",
            )
        case _:
            assert_never(part)


def build_decoder(part: DecoderPart, matrix: Matrix, memory: int) -> Decoder:
    match part:
        case TransformerPart():
            return transformer.build_decoder(part, matrix, memory)
        case RNNDecoderPart():
            return recurrent.build_decoder(part, matrix, memory)
        case ConvPart():
            return convolution.build_decoder(part, matrix, memory)
        case _:
            assert_never(part)
