"""Build encoder and decoder of kind "rnn"."""

from __future__ import annotations

from typing import assert_never

from torch import nn

from dragoman.config.model import ModelConfig
from dragoman.config.parts.recurrent import RNNDecoderPart, RNNEncoderPart, RNNPart
from dragoman.models.decoders.attention import DecoderAttention
from dragoman.models.decoders.bahdanau import BahdanauDecoder
from dragoman.models.decoders.cho import ChoDecoder
from dragoman.models.decoders.gnmt import GNMTDecoder
from dragoman.models.decoders.luong import AttentionalVector, InputFeedingDecoder, LuongDecoder
from dragoman.models.decoders.output_attention import OutputAttentionDecoder
from dragoman.models.decoders.recurrent_stack import RecurrentStack
from dragoman.models.decoders.sutskever import SutskeverDecoder
from dragoman.models.encoders.rnn import FinalStatesRNNEncoder, ReversedEncoder, RNNEncoder
from dragoman.models.heads.token import TokenHead
from dragoman.nn.attention.scores import Additive, Concat, Cosine, Dot, Multiplicative, ScaledDot, Score
from dragoman.nn.bridge import LastStateBridge, ProjectedBridge, ZeroBridge
from dragoman.nn.cells.cell import Cell
from dragoman.nn.cells.coupled import CoupledLSTMCell
from dragoman.nn.cells.elman import ElmanCell
from dragoman.nn.cells.gru import GRUCell, ResetFirstGRUCell
from dragoman.nn.cells.lstm import LSTMCell
from dragoman.nn.cells.peephole import PeepholeLSTMCell
from dragoman.nn.dropout import Dropout
from dragoman.nn.embedding import Matrix, PlainEmbedding
from dragoman.nn.norm import LayerNorm
from dragoman.nn.recurrent import merge_directions as join
from dragoman.nn.recurrent.bidirectional import BidirectionalLayer
from dragoman.nn.recurrent.dropout import VariationalDropout
from dragoman.nn.recurrent.layer import RecurrentLayer
from dragoman.nn.recurrent.maxout import MaxoutOutput
from dragoman.nn.recurrent.residual import Plain, Residual
from dragoman.protocols import Decoder, Encoder, Head

GatedCell = LSTMCell | PeepholeLSTMCell | CoupledLSTMCell | GRUCell | ResetFirstGRUCell
CELLS: dict[str, type[ElmanCell | GatedCell]] = {
    "elman": ElmanCell,
    "lstm": LSTMCell,
    "peephole-lstm": PeepholeLSTMCell,
    "coupled-lstm": CoupledLSTMCell,
    "gru": GRUCell,
    "reset-first-gru": ResetFirstGRUCell,
}


def build_encoder(part: RNNEncoderPart, matrix: Matrix, *, returns_final_states: bool) -> Encoder:
    """Return the encoder, which is unidirectional if it also returns its final states."""
    embed, drop = PlainEmbedding(matrix, 0.0), dropout(part)
    reads = (part.embedding, *part.output_widths)

    def one_way(layer: int) -> RecurrentLayer:
        return one_way_layer(part, reads[layer], 0, part.widths[layer])

    def any_way(layer: int) -> BidirectionalLayer | RecurrentLayer:
        both = part.reads_both_ways(layer)
        return two_way_layer(part, reads[layer], layer) if both else one_way(layer)

    encoder = (
        FinalStatesRNNEncoder(embed, drop, [one_way(layer) for layer in range(part.layers)])
        if returns_final_states
        else RNNEncoder(embed, drop, [any_way(layer) for layer in range(part.layers)])
    )
    scale_to_embedding(matrix, encoder.layers[0], part.embedding)
    return ReversedEncoder(encoder) if part.reversed_source else encoder


def build_decoder(part: RNNDecoderPart, matrix: Matrix, memory: int) -> Decoder:
    top, size = part.widths[-1], part.embedding
    match part.form:
        case "sutskever":
            return SutskeverDecoder(trunk(part, matrix, memory, memory), output(part))
        case "cho":
            V = nn.Linear(memory, top, bias=False)
            return ChoDecoder(trunk(part, matrix, memory, top), V, maxout(part, top), dropout(part))
        case "bahdanau":
            return BahdanauDecoder(
                trunk(part, matrix, memory, memory),
                decoder_attention(part, memory),
                maxout(part, memory),
                dropout(part),
            )
        case "luong":
            kind = InputFeedingDecoder if part.input_feeding else LuongDecoder
            attentional = AttentionalVector(memory, top, size)
            return kind(
                trunk(part, matrix, memory, memory),
                decoder_attention(part, memory),
                attentional,
                dropout(part),
            )
        case "joined":
            W = nn.Linear(memory + top, size, bias=False)
            return OutputAttentionDecoder(
                trunk(part, matrix, memory, memory), decoder_attention(part, memory), W
            )
        case "gnmt":
            return GNMTDecoder(
                trunk(part, matrix, memory, memory), decoder_attention(part, memory), output(part)
            )
        case _:
            assert_never(part.form)


def build_causal(part: RNNDecoderPart, matrix: Matrix) -> SutskeverDecoder:
    """Return a decoder without a source, for a language model: it begins with s⁰ = 0."""
    reads = (part.embedding, *part.widths)
    layers = [one_way_layer(part, reads[layer], 0, width) for layer, width in enumerate(part.widths)]
    scale_to_embedding(matrix, layers[0], part.embedding)
    stack = RecurrentStack(PlainEmbedding(matrix, 0.0), dropout(part), layers, ZeroBridge())
    return SutskeverDecoder(stack, output(part))


def share_cells(encoder: Encoder, decoder: Decoder) -> None:
    """Make the decoder use the cells of the encoder."""
    assert isinstance(encoder, nn.Module)
    assert isinstance(decoder, nn.Module)
    cells = [module for module in encoder.modules() if isinstance(module, Cell)]
    layers = [module for module in decoder.modules() if isinstance(module, RecurrentLayer)]
    for layer, cell in zip(layers, cells, strict=True):
        layer.cell = cell


def trunk(part: RNNDecoderPart, matrix: Matrix, memory: int, summary: int) -> RecurrentStack:
    reads = (part.embedding, *part.widths)
    layers = [
        one_way_layer(part, reads[layer], part.extra_features(layer, memory), width)
        for layer, width in enumerate(part.widths)
    ]
    scale_to_embedding(matrix, layers[0], part.embedding)
    return RecurrentStack(PlainEmbedding(matrix, 0.0), dropout(part), layers, bridge(part, summary))


def scale_to_embedding(matrix: Matrix, layer: nn.Module, size: int) -> None:
    """Multiply the weights of the first layer for its first `size` inputs, an embedding, by √size.

    W_x starts for inputs of norm √size, but the rows of an embedding matrix have norm 1, because it may also
    be the matrix of the output. Without this, the gates hardly see the tokens at first.
    """
    if isinstance(matrix, nn.Parameter):
        for cell in (module for module in layer.modules() if isinstance(module, Cell)):
            cell.W_x.data[:, :size] *= size**0.5


def may_enlarge_rows(config: ModelConfig) -> bool:
    """Return whether nothing but cells reads the output matrix as embeddings, and both sides the same."""
    read_by_others = config.tied == "all" and not config.encoder.has_cells
    return not read_by_others and not (config.tied == "target" and config.decoder.share_cells)


def enlarge_rows(encoder: Encoder, decoder: Decoder, head: Head, norm: float) -> None:
    """Multiply the rows of the output matrix by `norm`, and divide the weights of cells that read them.

    Rows of norm 1 and features that start small make logits that are nearly the same for all words, and
    learning is slow (decision 36).
    """
    if not isinstance(head, TokenHead):
        return
    assert isinstance(encoder, nn.Module)
    assert isinstance(decoder, nn.Module)
    W, size = head.W, head.W.shape[1]
    stacks = [
        module
        for module in (*encoder.modules(), *decoder.modules())
        if isinstance(module, RNNEncoder | FinalStatesRNNEncoder | RecurrentStack)
    ]
    first = [stack.layers[0] for stack in stacks if stack.embed.matrix is W]
    W.data *= norm
    for cell in {module for layer in first for module in layer.modules() if isinstance(module, Cell)}:
        cell.W_x.data[:, :size] /= norm


def bridge(part: RNNDecoderPart, summary: int) -> LastStateBridge | ProjectedBridge | ZeroBridge:
    match part.bridge:
        case "projected":
            return ProjectedBridge(summary, part.widths)
        case "last":
            return LastStateBridge()
        case "zero":
            return ZeroBridge()
        case _:
            assert_never(part.bridge)


def one_way_layer(part: RNNPart, read: int, extra_features: int, width: int) -> RecurrentLayer:
    return RecurrentLayer(
        CELLS[part.cell](read + extra_features, width), around(part, read, width), dropout(part)
    )


def two_way_layer(part: RNNEncoderPart, read: int, layer: int) -> BidirectionalLayer:
    width = part.widths[layer]
    right, left = (CELLS[part.cell](read, width) for _ in range(2))
    return BidirectionalLayer(
        right, left, joint(part, width), around(part, read, part.output_widths[layer]), dropout(part)
    )


def joint(
    part: RNNEncoderPart, width: int
) -> join.ConcatDirections | join.MeanDirections | join.ProjectedDirections:
    match part.join:
        case "concat":
            return join.ConcatDirections()
        case "mean":
            return join.MeanDirections()
        case "projection":
            return join.ProjectedDirections(width)
        case _:
            assert_never(part.join)


def around(part: RNNPart, read: int, width: int) -> Plain | Residual:
    norm = LayerNorm(width) if part.norm else nn.Identity()
    return Residual(norm) if part.residual and read == width else Plain(norm)


def dropout(part: RNNPart) -> Dropout:
    return VariationalDropout(part.dropout) if part.variational else Dropout(part.dropout)


def output(part: RNNDecoderPart) -> nn.Module:
    """Return the projection from the top state to the width of the output layer."""
    top, size = part.widths[-1], part.embedding
    return nn.Identity() if top == size else nn.Linear(top, size, bias=False)


def maxout(part: RNNDecoderPart, context: int) -> MaxoutOutput:
    return MaxoutOutput(part.widths[-1], part.embedding, context, part.embedding)


def decoder_attention(part: RNNDecoderPart, memory: int) -> DecoderAttention:
    return DecoderAttention(score(part, memory))


def score(part: RNNDecoderPart, memory: int) -> Score:
    query = part.query_features
    match part.attention:
        case "additive":
            return Additive(query, memory, query)
        case "multiplicative":
            return Multiplicative(query, memory)
        case "concat":
            return Concat(query, memory, query)
        case "dot":
            return Dot()
        case "scaled-dot":
            return ScaledDot()
        case "cosine":
            return Cosine()
        case _:
            assert_never(part.attention)
