"""Build a Seq2Seq from a ModelConfig; `builders` has one module per family of architectures, and the networks
of other tasks."""

from __future__ import annotations

from typing import assert_never

import torch
from torch import nn

from dragoman.config.model import DecoderPart, EncoderPart, ModelConfig
from dragoman.config.parts.convolution import ConvPart, KalchbrennerPart
from dragoman.config.parts.embedding import FramePart
from dragoman.config.parts.head import JointHeadPart
from dragoman.config.parts.no_encoder import NoEncoderPart
from dragoman.config.parts.recurrent import RNNDecoderPart, RNNEncoderPart
from dragoman.config.parts.sentence import DensePart, MultiKernelPart
from dragoman.config.parts.transformer import TransformerPart
from dragoman.errors import ConfigError
from dragoman.models.builders import convolution, recurrent, transformer
from dragoman.models.builders.embedding import Spelling, build_embedding, build_frames
from dragoman.models.builders.head import build_head
from dragoman.models.ctc import JointCTC
from dragoman.models.encoders.frames import FrameEncoder
from dragoman.models.encoders.sentence import DeepAveragingEncoder, MultiKernelEncoder
from dragoman.models.heads.ctc import CTCHead
from dragoman.models.seq2seq import Seq2Seq
from dragoman.nn.embedding import Matrix, PlainEmbedding
from dragoman.protocols import Decoder, Encoder


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
        if isinstance(config.decoder, RNNDecoderPart) and recurrent.may_enlarge_rows(config):
            recurrent.enlarge_rows(encoder, decoder, head, config.decoder.row_norm)
        if isinstance(config.head, JointHeadPart):
            ctc = CTCHead(config.encoder.memory_features, tgt_size, config.head.split)
            return JointCTC(encoder, decoder, head, ctc, config.head.weight)
        return Seq2Seq(encoder, decoder, head)


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
