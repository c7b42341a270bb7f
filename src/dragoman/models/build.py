"""Build a Seq2Seq from a ModelConfig, whose parts build themselves."""

from __future__ import annotations

import torch
from torch import nn

from dragoman.config.model import ModelConfig
from dragoman.config.parts.embedding import FramePart
from dragoman.config.parts.head import JointHeadPart
from dragoman.models.builders import recurrent
from dragoman.models.builders.embedding import Spelling, build_embedding, build_frames
from dragoman.models.builders.head import build_head
from dragoman.models.ctc import JointCTC
from dragoman.models.encoders.frames import FrameEncoder
from dragoman.models.heads.ctc import CTCHead
from dragoman.models.seq2seq import Seq2Seq
from dragoman.nn.embedding import Matrix
from dragoman.protocols import Encoder


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
        encoder = build_reader(
            config, src_size, src_spelling, shared, returns_final_states=config.decoder.needs_final_states
        )
        decoder = config.decoder.build_decoder(tgt_matrix, config.encoder.memory_features)
        if config.decoder.share_cells:
            recurrent.share_cells(encoder, decoder)
        head = build_head(config, tgt_size, tgt_matrix, smoothing)
        if config.decoder.row_norm != 1.0 and recurrent.may_enlarge_rows(config):
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
        reader = config.encoder.build_encoder(nn.Identity(), returns_final_states=returns_final_states)
        return FrameEncoder(frames, reader)
    matrix = build_embedding(part, src_size, size, spelling) if shared is None else shared
    return config.encoder.build_encoder(matrix, returns_final_states=returns_final_states)
