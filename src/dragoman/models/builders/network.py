"""Build the network of each task."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from dragoman.config.model import ModelConfig
from dragoman.config.parts.embedding import SourceEmbeddingPart
from dragoman.config.parts.head import CTCHeadPart, StateHeadPart
from dragoman.config.parts.source import TextSource
from dragoman.config.root import Config
from dragoman.models.build import build_model, build_reader
from dragoman.models.builders.embedding import Spelling, build_embedding
from dragoman.models.builders.head import build_head
from dragoman.models.builders.states import build_heads
from dragoman.models.classifier import Classifier
from dragoman.models.ctc import CTC
from dragoman.models.heads.ctc import CTCHead
from dragoman.models.language_model import LanguageModel
from dragoman.models.tagger import JointTagger, Tagger
from dragoman.protocols import Network
from dragoman.text.tokenizer import Tokenizer
from dragoman.text.tokenizer_pair import TokenizerPair
from dragoman.text.vocabulary_characters import characters_of_entries


def new_model(config: Config, text: TokenizerPair) -> Network:
    """Return the network of a task, with new weights."""
    model, training = config.model, config.training
    smoothing, seed = training.label_smoothing, training.seed
    src_size, tgt_size = source_size(config, text), text.tgt.size
    src_spelling, tgt_spelling = (
        spelling(tokenizer, part)
        for tokenizer, part in ((text.src, model.src_embedding), (text.tgt, model.tgt_embedding))
    )
    if config.task == "lm":
        return build_language_model(model, tgt_size, smoothing=smoothing, seed=seed, spelling=tgt_spelling)
    match model.head:
        case CTCHeadPart():
            return build_ctc(model, src_size, tgt_size, seed=seed, src_spelling=src_spelling)
        case StateHeadPart():
            entries = [text.tgt.piece(id) for id in range(tgt_size)]
            return build_state_model(
                model, src_size, entries, smoothing=smoothing, seed=seed, src_spelling=src_spelling
            )
    return build_model(
        model,
        src_size,
        tgt_size,
        smoothing=smoothing,
        seed=seed,
        src_spelling=src_spelling,
        tgt_spelling=tgt_spelling,
    )


def spelling(tokenizer: Tokenizer, part: SourceEmbeddingPart) -> Spelling:
    """Return the characters of the vocabulary, if the embedding is computed from them."""
    return characters_of_entries(tokenizer) if part.kind == "characters" else ()


def source_size(config: Config, text: TokenizerPair) -> int:
    """Return the size of the source vocabulary, or the numbers of a frame if the sources are not text."""
    source = config.data.source
    return text.src.size if isinstance(source, TextSource) else source.frame_features


def build_ctc(
    config: ModelConfig, src_size: int, tgt_size: int, *, seed: int, src_spelling: Spelling = ()
) -> CTC:
    """Return a model without a decoder, for head.kind = "ctc"."""
    assert isinstance(config.head, CTCHeadPart)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        encoder = build_reader(config, src_size, src_spelling)
        return CTC(encoder, CTCHead(config.encoder.memory_features, tgt_size, config.head.split))


def build_language_model(
    config: ModelConfig, size: int, *, smoothing: float, seed: int, spelling: Spelling = ()
) -> LanguageModel:
    """Return a language model with new weights: `config.decoder` without a source, and the head."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        matrix = build_embedding(config.tgt_embedding, size, config.decoder.token_features, spelling)
        decoder = config.decoder.build_causal(matrix)
        return LanguageModel(decoder, build_head(config, size, matrix, smoothing))


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
