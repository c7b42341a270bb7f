"""Convolution against torch's own and against its equations."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from dragoman.config.model import ModelConfig
from dragoman.models.build import build_model
from dragoman.models.seq2seq import Seq2Seq
from dragoman.nn.conv.attention import MultiStepAttention, Source
from dragoman.nn.conv.block import EncoderBlock
from dragoman.nn.conv.convolve import convolve
from dragoman.nn.conv.gated import GatedConvolution, glu, windows
from dragoman.nn.conv.scaling import scale_gradient, scaled_sum
from dragoman.nn.conv.sentence_model import SentenceModel, convolve_features, first
from dragoman.nn.conv.weight_norm import WeightNormed
from dragoman.nn.dropout import noise
from dragoman.protocols import Memory

SIDES = [(1, 0), (2, 0), (2, 1), (3, 1), (3, 2), (5, 2), (5, 4), (7, 3)]


def randn(*shape: int, dtype: torch.dtype = torch.float64, grad: bool = False) -> torch.Tensor:
    return torch.randn(*shape, dtype=dtype, requires_grad=grad)


@pytest.mark.parametrize(("kernel", "left"), SIDES)
def test_convolution_equals_torch(kernel: int, left: int) -> None:
    torch.manual_seed(0)
    x, W, b = randn(2, 4, 3), randn(5, kernel, 3), randn(5)
    padded = F.pad(x, (0, 0, left, kernel - 1 - left)).transpose(1, 2)
    expected = F.conv1d(padded, W.transpose(1, 2), b).transpose(1, 2)
    assert torch.allclose(convolve(x, W, b, left), expected, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize(("kernel", "left"), SIDES)
@pytest.mark.parametrize(
    ("dtype", "forward", "backward"), [(torch.float64, 1e-12, 1e-12), (torch.float32, 1e-6, 2e-6)]
)
def test_one_product_of_windows_equals_the_convolution(
    kernel: int, left: int, dtype: torch.dtype, forward: float, backward: float
) -> None:
    torch.manual_seed(1)
    x = randn(3, 4, 6, dtype=dtype, grad=True)
    W = (randn(5, kernel, 6, dtype=dtype) * (6 * kernel) ** -0.5).requires_grad_()
    b = randn(5, dtype=dtype, grad=True)
    slow = convolve(x, W, b, left)
    fast = F.linear(windows(x.flatten(0, 1), (3, 4), kernel, left), W.flatten(1), b).view(3, 4, 5)
    assert torch.allclose(slow, fast, rtol=0.0, atol=forward)
    weight = torch.randn_like(slow)
    slow_grads = torch.autograd.grad((slow * weight).sum(), (x, W, b))
    fast_grads = torch.autograd.grad((fast * weight).sum(), (x, W, b))
    for u, v in zip(slow_grads, fast_grads, strict=True):
        assert float((u - v).norm() / u.norm()) <= backward


def test_weight_norm_equals_torch_and_starts_as_it_was_drawn() -> None:
    torch.manual_seed(2)
    ours = WeightNormed(6, 4).double()
    assert torch.allclose(ours.matrix(), ours.v, atol=1e-7)
    nn.init.uniform_(ours.g)
    nn.init.normal_(ours.b)
    theirs = nn.utils.parametrizations.weight_norm(nn.Linear(6, 4, dtype=torch.float64))
    theirs.parametrizations.weight.original0.data = ours.g.data.unsqueeze(1)
    theirs.parametrizations.weight.original1.data = ours.v.data
    theirs.bias.data = ours.b.data
    x = randn(3, 6)
    assert torch.allclose(ours(x), theirs(x), rtol=0.0, atol=1e-12)
    assert torch.allclose(ours.matrix().norm(dim=1), ours.g, rtol=0.0, atol=1e-12)


def test_initial_variance_is_the_papers() -> None:
    torch.manual_seed(3)
    W = WeightNormed(3 * 64, 2 * 500, retain=0.8, gain=4.0).matrix().detach()
    assert float(W.std()) == pytest.approx((4 * 0.8 / 192) ** 0.5, rel=0.01)


def test_a_gated_convolution_keeps_the_variance_with_dropout() -> None:
    torch.manual_seed(4)
    convolution = GatedConvolution(128, 128, 3, 1, dropout=0.3)
    with noise(1):
        h = convolution(0.1 * torch.randn(4000, 128), (1, 4000)).detach()
    assert float(h.std()) == pytest.approx(0.1, rel=0.1)


def test_gated_linear_unit_is_the_formula() -> None:
    y = randn(3, 8)
    assert torch.allclose(glu(y), y[:, :4] / (1 + torch.exp(-y[:, 4:])), rtol=0.0, atol=1e-12)


def test_parameters_of_a_gated_convolution() -> None:
    """W ∈ R^{2d × kd}, and a length and a bias for each of its rows."""
    counted = sum(p.numel() for p in GatedConvolution(512, 512, 3, 1, dropout=0.0).parameters())
    assert counted == 1024 * 3 * 512 + 2 * 1024 == 1_574_912


def test_joined_sums_keep_their_variance() -> None:
    torch.manual_seed(5)
    assert float(scaled_sum(randn(10_000), randn(10_000)).var()) == pytest.approx(1.0, rel=0.05)


def test_only_a_part_of_the_gradient_goes_back() -> None:
    x = randn(3, 4, grad=True)
    y = scale_gradient(x, 0.25)
    assert torch.equal(x, y)
    y.sum().backward()
    assert torch.equal(x.grad, torch.full_like(x, 0.25))


def test_step_by_step_equals_the_whole_sequence() -> None:
    torch.manual_seed(6)
    convolution = GatedConvolution(4, 5, 3, 2, dropout=0.0).double()
    x = randn(2, 6, 4)
    whole = convolution(x.flatten(0, 1), (2, 6)).view(2, 6, 5)
    past = convolution.before(2).double()
    for t in range(6):
        h, past = convolution.step(x[:, t], past)
        assert past.shape == torch.Size([2, 2, 4])
        assert torch.allclose(h, whole[:, t], rtol=0.0, atol=1e-12)


def source_of(rows: int, count: int, size: int) -> Source:
    return Source(
        randn(rows, count, size),
        randn(rows, count, size),
        torch.zeros(rows, 1, count, dtype=torch.float64),
        torch.full((rows, 1, 1), count**0.5, dtype=torch.float64),
    )


def test_multi_step_attention_is_the_formula() -> None:
    torch.manual_seed(7)
    attention = MultiStepAttention(3, 4).double()
    nn.init.normal_(attention.W_d.b)
    nn.init.normal_(attention.W_c.b)
    h, g, source = randn(2, 3), randn(2, 4), source_of(1, 5, 4)
    found, a = attention(h, g, (1, 2), source)
    half = 0.5**0.5
    for i in range(2):
        d = (attention.W_d.matrix() @ h[i] + attention.W_d.b + g[i]) * half
        weights = torch.softmax(torch.stack([d @ source.keys[0, j] for j in range(5)]), dim=0)
        c = sum(weights[j] * source.values[0, j] for j in range(5)) * 5 * (1 / 5) ** 0.5
        expected = (attention.W_c.matrix() @ c + attention.W_c.b + h[i]) * half
        assert torch.allclose(a[0, i], weights, rtol=0.0, atol=1e-12)
        assert torch.allclose(found[i], expected, rtol=0.0, atol=1e-12)


def conv_model(layers: int, width: int, embedding: int) -> Seq2Seq:
    part = {"kind": "conv", "layers": layers, "width": width, "embedding": embedding, "dropout": 0.0}
    config = ModelConfig.model_validate({"encoder": part, "decoder": part})
    return build_model(config, 50, 50, smoothing=0.0, seed=1).double()


def test_decoder_compares_states_and_mixes_states_and_embeddings() -> None:
    torch.manual_seed(15)
    z, e, keep = randn(2, 3, 6, grad=True), randn(2, 3, 6, grad=True), torch.ones(2, 3, dtype=torch.bool)
    decoder = conv_model(4, 8, 6).decoder
    source = decoder.look_at(Memory(z, keep, z[:, 0], embedded=e))
    assert torch.equal(source.keys, z)
    assert torch.allclose(source.values, (z + e) * 0.5**0.5, rtol=0.0, atol=1e-12)
    (to_keys,) = torch.autograd.grad(source.keys.sum(), z, retain_graph=True)
    assert torch.allclose(to_keys, torch.full_like(z, 1 / 8), rtol=0.0, atol=1e-12)
    to_z, to_e = torch.autograd.grad(source.values.sum(), (z, e))
    assert torch.allclose(to_z, to_e / 8, rtol=0.0, atol=1e-12)
    assert torch.allclose(to_e, torch.full_like(e, 0.5**0.5), rtol=0.0, atol=1e-12)
    alone = decoder.look_at(Memory(z, keep, z[:, 0]))
    assert torch.equal(alone.values, z)


def test_encoder_starts_with_states_as_large_as_its_embeddings() -> None:
    """Word and place are N(0, 0.1) each, and every layer keeps the variance."""
    src = torch.arange(50).view(2, 25)
    memory = conv_model(6, 128, 64).encoder(src, torch.ones_like(src, dtype=torch.bool))
    assert float(memory.embedded.detach().std()) == pytest.approx(0.1 * 2**0.5, rel=0.1)
    assert float(memory.states.detach().std()) == pytest.approx(0.1 * 2**0.5, rel=0.25)


def test_encoder_block_is_the_formula() -> None:
    torch.manual_seed(8)
    block = EncoderBlock(GatedConvolution(3, 4, 3, 1, dropout=0.0), WeightNormed(3, 4)).double()
    x = randn(5, 3)
    padded = F.pad(x, (0, 0, 1, 1))
    for i in range(5):
        A, B = (block.convolution.W.matrix() @ padded[i : i + 3].flatten()).chunk(2)
        expected = (A * B.sigmoid() + block.carry.matrix() @ x[i]) * 0.5**0.5
        assert torch.allclose(block(x, (1, 5), None)[i], expected, rtol=0.0, atol=1e-12)


def test_padding_counts_as_nothing_in_an_encoder_block() -> None:
    torch.manual_seed(9)
    block = EncoderBlock(GatedConvolution(3, 3, 3, 1, dropout=0.0), nn.Identity()).double()
    x, real = randn(5, 3), torch.tensor([[1.0], [1.0], [1.0], [0.0], [0.0]], dtype=torch.float64)
    assert torch.allclose(block(x, (1, 5), real)[:3], block(x[:3], (1, 3), None), rtol=0.0, atol=1e-12)


def test_feature_convolution_equals_torch() -> None:
    torch.manual_seed(11)
    x, K = randn(2, 7, 3), randn(4, 3)
    expected = F.conv1d(x.transpose(1, 2), K.T.unsqueeze(1), groups=3).transpose(1, 2)
    assert torch.allclose(convolve_features(x, K), expected, rtol=0.0, atol=1e-12)


def test_kernels_of_a_sentence_model_stand_one_below_the_other() -> None:
    assert [first(i) for i in (2, 3, 4, 5)] == [0, 2, 5, 9]
    assert len(SentenceModel(1, widest=4).K) == 2 + 3 + 4


@pytest.mark.parametrize(
    ("words", "columns"), [(1, 1), (2, 1), (3, 2), (4, 1), (5, 2), (6, 3), (7, 1), (8, 2), (10, 4)]
)
def test_sentence_model_shrinks_by_the_kernels_that_fit(words: int, columns: int) -> None:
    torch.manual_seed(12)
    model = SentenceModel(3, widest=4).double()
    x = randn(1, words, 3)
    e, top, real = model(x, torch.ones(1, words, dtype=torch.bool))
    E = x
    for i in (2, 3, 4):
        if E.shape[1] >= i:
            E = torch.tanh(convolve_features(E, model.K[first(i) : first(i + 1)]))
    assert torch.allclose(top, E, rtol=0.0, atol=1e-12)
    assert real.tolist() == [[True] * columns]
    L = model.L[first(columns) : first(columns + 1)]
    expected = torch.tanh((L * E[0]).sum(dim=0)) if columns > 1 else E[0, 0]
    assert torch.allclose(e[0], expected, rtol=0.0, atol=1e-12)


def test_sentences_shrink_together_as_alone() -> None:
    torch.manual_seed(13)
    model = SentenceModel(3, widest=4).double()
    lengths = [5, 10, 1, 3, 8, 6, 2]
    x, keep = randn(7, 10, 3), torch.arange(10) < torch.tensor(lengths).unsqueeze(1)
    e, top, real = model(x, keep)
    for row, n in enumerate(lengths):
        e_alone, top_alone, real_alone = model(x[row : row + 1, :n], keep[row : row + 1, :n])
        assert torch.allclose(e[row], e_alone[0], rtol=0.0, atol=1e-12)
        assert torch.allclose(top[row][real[row]], top_alone[real_alone], rtol=0.0, atol=1e-12)
