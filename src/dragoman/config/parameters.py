"""Lower bounds on the parameters of a model from its settings alone, before memory is allocated.

Only the matrices of each part are counted, not biases and norms. A model folder with fewer weights is
refused, so that a small file cannot make the loader allocate a large model.
"""

from __future__ import annotations

from itertools import pairwise

from dragoman.config.model import ModelConfig
from dragoman.config.parts.convolution import ConvPart, KalchbrennerPart
from dragoman.config.parts.embedding import (
    FrameConvolutionsPart,
    ProjectionPart,
    SourceEmbeddingPart,
    SpelledEmbeddingPart,
    SpellingPart,
)
from dragoman.config.parts.head import AdaptiveHeadPart, FrameHeadPart, StateHeadPart, WordHeadPart
from dragoman.config.parts.no_encoder import NoEncoderPart
from dragoman.config.parts.part import DecoderPart, EncoderPart
from dragoman.config.parts.recurrent import RNNDecoderPart, RNNEncoderPart, RNNPart
from dragoman.config.parts.sentence import DensePart, MultiKernelPart
from dragoman.config.parts.transformer import TransformerPart

GATES = {"elman": 1, "lstm": 4, "peephole-lstm": 4, "coupled-lstm": 3, "gru": 3, "reset-first-gru": 3}


def least_parameters(model: ModelConfig, src_entries: int = 0, tgt_entries: int = 0) -> int:
    """Return the minimum number of parameters for vocabularies of these sizes."""
    encoder, decoder = model.encoder, model.decoder
    if not model.head.reads_decoder:
        total = of_encoder(encoder) + of_embedding(model.src_embedding, src_entries, encoder.token_features)
        return total + of_ctc(model, tgt_entries) + of_states(model, tgt_entries)
    total = of_encoder(encoder) + of_decoder(decoder, encoder.memory_features)
    total += of_embedding(model.tgt_embedding, tgt_entries, decoder.token_features)
    if model.tied != "all":
        total += of_embedding(model.src_embedding, src_entries, encoder.token_features)
    total += of_ctc(model, tgt_entries)
    if model.tied == "none" and not isinstance(model.head, AdaptiveHeadPart):
        total += tgt_entries * decoder.features
    return total


def of_ctc(model: ModelConfig, entries: int) -> int:
    if not isinstance(model.head, FrameHeadPart):
        return 0
    states = model.encoder.memory_features
    split = model.head.split * states * states if model.head.split > 1 else 0
    return split + (entries + 1) * states


def of_states(model: ModelConfig, entries: int) -> int:
    """Return the parameters of heads that read the states of the encoder."""
    if not isinstance(model.head, StateHeadPart):
        return 0
    heads = isinstance(model.head, WordHeadPart) + (model.head_reads_pooling and model.pooling.kind != "last")
    return heads * entries * model.encoder.memory_features


def largest_table(model: ModelConfig) -> int:
    """Return the size of the largest position table that is computed rather than learned."""
    return max(
        part.max_positions * part.width
        if isinstance(part, TransformerPart) and part.positions in ("sinusoidal", "rotary")
        else 0
        for part in (model.encoder, model.decoder)
    )


def of_encoder(part: EncoderPart) -> int:
    match part:
        case TransformerPart():
            return part.layers * (of_self_attention(part) + of_feed_forward(part)) + of_places(part)
        case RNNEncoderPart():
            reads = (part.embedding, *part.output_widths)
            both = [1 + part.reads_both_ways(layer) for layer in range(part.layers)]
            return sum(n * of_cell(part, reads[k], part.widths[k]) for k, n in enumerate(both))
        case ConvPart():
            return of_convolutions(part)
        case KalchbrennerPart():
            widest = part.layers + 1
            return 2 * part.embedding * (widest * (widest + 1) // 2 - 1)
        case NoEncoderPart():
            return 0
        case DensePart():
            return part.embedding * part.width + (part.layers - 1) * part.width**2
        case MultiKernelPart():
            return sum(part.kernels) * part.embedding * part.filters
    return 0  # of a part that is not ours, nothing is known


def of_decoder(part: DecoderPart, memory: int) -> int:
    match part:
        case TransformerPart():
            cross = of_cross_attention(part, memory) if memory else 0
            layer = of_self_attention(part) + cross + of_feed_forward(part)
            return part.layers * layer + of_places(part)
        case RNNDecoderPart() if not memory:
            reads = zip((part.embedding, *part.widths), part.widths, strict=False)
            return sum(of_cell(part, read, width) for read, width in reads)
        case RNNDecoderPart():
            return of_recurrent_decoder(part, memory)
        case ConvPart():
            looks = 2 * sum(part.widths) * part.embedding
            return of_convolutions(part) + looks + (memory != part.embedding) * memory * part.embedding
    return 0


def of_recurrent_decoder(part: RNNDecoderPart, memory: int) -> int:
    reads = (part.embedding, *part.widths)
    layers = enumerate(part.widths)
    total = sum(of_cell(part, reads[k] + part.extra_features(k, memory), width) for k, width in layers)
    if part.share_cells:  # the cells are those of the encoder
        total = 0
    if part.bridge == "projected" and part.form != "cho":
        total += memory * sum(part.widths)
    if part.form == "cho":
        total += memory * part.widths[-1]
    if part.form in ("luong", "joined"):
        total += (memory + part.widths[-1]) * part.embedding
    return total


def of_cell(part: RNNPart, read: int, width: int) -> int:
    return GATES[part.cell] * width * (read + width)


def of_self_attention(part: TransformerPart) -> int:
    return 2 * part.width * (part.width + shared(part))


def of_cross_attention(part: TransformerPart, memory: int) -> int:
    return 2 * part.width * part.width + 2 * memory * shared(part)


def shared(part: TransformerPart) -> int:
    """Return the total features of all key heads, which equals that of all value heads."""
    return part.width // part.heads * (part.kv_heads or part.heads)


def of_feed_forward(part: TransformerPart) -> int:
    return (3 if part.activation == "swiglu" else 2) * part.width * part.ffn


def of_places(part: TransformerPart) -> int:
    return part.max_positions * part.width if part.positions == "learned" else 0


def of_convolutions(part: ConvPart) -> int:
    steps = zip(pairwise((part.widths[0], *part.widths)), part.kernels, strict=True)
    blocks = sum(2 * kernel * below * width for (below, width), kernel in steps)
    ends = part.embedding * (part.widths[0] + part.widths[-1])
    return blocks + ends + part.max_positions * part.embedding


def of_embedding(part: SourceEmbeddingPart, entries: int, size: int) -> int:
    if isinstance(part, ProjectionPart):
        return size
    if isinstance(part, FrameConvolutionsPart):
        kernels = sum(9 * read * channels for read, channels in pairwise((1, *part.channels)))
        return kernels + part.channels[-1] * size
    if not isinstance(part, SpellingPart):
        return entries * size
    table = entries * size if isinstance(part, SpelledEmbeddingPart) else 0
    filters = sum(part.filters * width * width * part.features for width in part.widths)
    count = part.filters * sum(part.widths)
    return table + filters + part.highways * 2 * count * count + count * size
