"""Adaptive softmax against torch's own, sampled softmax against the plain one over the same words."""

from typing import Any

import pytest
import torch
from torch import nn

from dragoman.config.load import validate
from dragoman.config.model import ModelConfig
from dragoman.errors import ConfigError
from dragoman.losses.cross_entropy import output_loss
from dragoman.models.build import build_model
from dragoman.models.heads.adaptive import AdaptiveHead
from dragoman.models.heads.sampled import SampledHead, batch_vocabulary
from dragoman.models.heads.tags import CRFTags, SoftmaxTags
from dragoman.models.heads.token import TokenHead
from dragoman.nn.dropout import draw, noise
from dragoman.nn.embedding import embedding_matrix
from dragoman.protocols import Head

D, V, CUTOFFS = 16, 40, (6, 15)
TRANSFORMER: dict[str, Any] = {"kind": "transformer", "layers": 1, "width": D, "heads": 2, "ffn": 24}


def rows(count: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    draw = torch.Generator().manual_seed(seed)
    return torch.randn(count, D, generator=draw), torch.randint(0, V, (count,), generator=draw)


def value(x: torch.Tensor) -> float:
    return float(x.detach())


def relative(a: torch.Tensor, b: torch.Tensor) -> float:
    return float((a - b).norm() / b.norm())


def adaptive(smoothing: float = 0.0) -> AdaptiveHead:
    torch.manual_seed(1)
    head = AdaptiveHead(D, V, CUTOFFS, 4, smoothing)
    nn.init.normal_(head.frequent.b)
    return head


def torchs(head: AdaptiveHead) -> nn.AdaptiveLogSoftmaxWithLoss:
    """Torch's adaptive softmax with the weights of ours; its clusters have no bias."""
    theirs = nn.AdaptiveLogSoftmaxWithLoss(D, V, list(CUTOFFS), div_value=4.0, head_bias=True)
    with torch.no_grad():
        theirs.head.weight.copy_(head.frequent.U)
        theirs.head.bias.copy_(head.frequent.b)
        for (down, out), ours in zip(theirs.tail, head.clusters, strict=True):
            down.weight.copy_(ours.P.weight)
            out.weight.copy_(ours.U)
    return theirs


def test_adaptive_probabilities_are_torchs() -> None:
    head = adaptive().double()
    h = rows(9)[0].double()
    log_p = head(h)
    assert torch.allclose(log_p, torchs(head).double().log_prob(h), rtol=0.0, atol=1e-12)
    assert torch.allclose(log_p.exp().sum(dim=1), torch.ones(9, dtype=torch.float64), rtol=0.0, atol=1e-12)


def test_adaptive_loss_and_gradients_are_torchs() -> None:
    head, (h, y) = adaptive(), rows(50)
    theirs = torchs(head)
    h_1, h_2 = h.clone().requires_grad_(), h.clone().requires_grad_()
    sums = head.loss(h_1, y)
    sums.loss.backward()
    expected = theirs(h_2, y).loss * len(h)
    expected.backward()
    assert value(sums.loss) == pytest.approx(value(expected), rel=1e-6)
    assert value(sums.nll) == pytest.approx(value(sums.loss), rel=1e-6)
    pairs = [(h_1, h_2), (head.frequent.U, theirs.head.weight), (head.frequent.b, theirs.head.bias)]
    for ours, (down, out) in zip(head.clusters, theirs.tail, strict=True):
        pairs += [(ours.P.weight, down.weight), (ours.U, out.weight)]
    for ours, torchs_own in pairs:
        assert relative(ours.grad, torchs_own.grad) < 2e-6


def test_adaptive_smoothing_leaves_the_likelihood_alone() -> None:
    h, y = rows(50)
    plain, smooth = adaptive().loss(h, y), adaptive(0.1).loss(h, y)
    assert value(smooth.nll) == pytest.approx(value(plain.nll), rel=1e-6)
    assert value(smooth.loss) > value(plain.loss)


def test_adaptive_batch_may_lack_a_cluster() -> None:
    head, (h, _) = adaptive(), rows(3)
    y = torch.tensor([0, 5, 2])
    with torch.no_grad():
        assert torch.allclose(head.loss(h, y).nll, -head(h).gather(1, y.unsqueeze(1)).sum())


def test_adaptive_clusters_have_fewer_features() -> None:
    """c₁ + 2 rows of D, then 9 rows of D/4 and 25 of D/16, each with a projection; a bias per row."""
    count = sum(p.numel() for p in adaptive().parameters())
    assert count == 8 * (D + 1) + 9 * (4 + 1) + D * 4 + 25 * (1 + 1) + D * 1


def test_adaptive_gradients_are_those_of_its_probabilities() -> None:
    h = rows(2)[0].double().requires_grad_()
    assert torch.autograd.gradcheck(adaptive().double(), (h,), fast_mode=True)


def test_sampled_loss_is_the_plain_one_over_the_batchs_words() -> None:
    torch.manual_seed(0)
    head, (h, y) = SampledHead(embedding_matrix(V, D), 20, 0.1), rows(12)
    nn.init.normal_(head.b)
    with noise(5):
        sums = head.loss(h, y)
    sums.loss.backward()
    gradient, head.W.grad = head.W.grad, None
    with noise(5):
        words, places = batch_vocabulary(y, V, 20)
    assert len(words) == len(words.unique()) == 20
    assert torch.equal(words[places], y)
    expected = output_loss(h, head.W[words], head.b[words], places, 0.1)
    expected.loss.backward()
    assert value(sums.loss) == pytest.approx(value(expected.loss), rel=1e-6)
    assert value(sums.nll) == pytest.approx(value(expected.nll), rel=1e-6)
    assert relative(gradient, head.W.grad) < 2e-6
    unseen = [v for v in range(V) if v not in words.tolist()]
    assert not gradient[unseen].any()


def test_sampled_head_is_the_plain_one_outside_of_training() -> None:
    torch.manual_seed(0)
    W, (h, y) = embedding_matrix(V, D), rows(12)
    sampled, plain = SampledHead(W, 20, 0.1).eval(), TokenHead(W, 0.1)
    assert torch.equal(sampled(h), plain(h))
    assert torch.equal(sampled.loss(h, y).nll, plain.loss(h, y).nll)
    whole = SampledHead(W, V + 7, 0.1)  # in training too, where the batch's vocabulary is all there is
    with noise(1):
        assert value(whole.loss(h, y).nll) == pytest.approx(value(plain.loss(h, y).nll), rel=1e-6)


@pytest.mark.parametrize("size", [1, 5, 40, 99])
def test_batch_vocabulary_has_the_targets_and_as_many_words_as_asked_for(size: int) -> None:
    y = torch.tensor([7, 3, 3, 39, 0])
    with noise(2):
        words, places = batch_vocabulary(y, V, size)
    assert len(words) == len(words.unique()) == min(max(size, 4), V)
    assert torch.equal(words[places], y)


def test_draws_follow_from_the_key_and_reach_everything() -> None:
    def drawn(*key: int) -> list[int]:
        with noise(*key):
            return draw(50, 10).tolist()

    assert drawn(1, 2) == drawn(1, 2)
    assert drawn(1, 2) != drawn(1, 3)
    seen = [word for key in range(200) for word in drawn(key)]
    assert set(seen) == set(range(50))
    assert sorted(draw(5, 5).tolist()) == [0, 1, 2, 3, 4]  # without a stream, by torch's own


def model_config(**model: Any) -> ModelConfig:
    return ModelConfig.model_validate({"encoder": TRANSFORMER, "decoder": TRANSFORMER, **model})


@pytest.mark.parametrize(
    ("head", "tied", "kind"),
    [
        ({"kind": "softmax"}, "all", TokenHead),
        ({"kind": "sampled", "size": 9}, "target", SampledHead),
        ({"kind": "adaptive", "cutoffs": [6, 15]}, "none", AdaptiveHead),
    ],
)
def test_settings_choose_the_head(head: dict[str, Any], tied: str, kind: type[Head]) -> None:
    model = build_model(model_config(head=head, tied=tied), V, V, smoothing=0.1, seed=1)
    assert type(model.head) is kind


def refusal(**sections: Any) -> ConfigError:
    model = {"encoder": TRANSFORMER, "decoder": TRANSFORMER, "tied": "none", **sections.pop("model")}
    with pytest.raises(ConfigError) as caught:
        validate({"data": {"train": "train.tsv"}, "model": model, **sections})
    return caught.value


def test_heads_that_cannot_be_are_refused() -> None:
    clusters = {"kind": "adaptive", "cutoffs": [6, 15]}
    assert refusal(model={"head": clusters, "tied": "all"}).what.endswith('set model.tied = "none".')
    assert "larger than the one before" in refusal(model={"head": {**clusters, "cutoffs": [9, 9]}}).what
    said = refusal(model={"head": {**clusters, "cutoffs": [6, 15, 30]}}).what
    assert "cluster 3 of head.cutoffs has 16 / 4^3 features, which is less than one" in said
    assert said.endswith("use fewer cutoffs or a smaller head.shrink.")
    said = refusal(model={"head": {**clusters, "cutoffs": [6, 900]}}, text={"size": 800}).what
    assert "reaches 900, but the target vocabulary has at most 800 entries" in said


def test_vocabulary_that_turns_out_small_is_refused() -> None:
    config = model_config(head={"kind": "adaptive", "cutoffs": [6, 40]}, tied="none")
    with pytest.raises(ConfigError, match="reaches 40, and the target vocabulary has 40 entries") as caught:
        build_model(config, V, V, smoothing=0.1, seed=1)
    assert "numbers below 40" in str(caught.value)


def test_a_chain_of_tags_begins_as_the_softmax_of_each_tag() -> None:
    """With transitions of 0, a CRF is a softmax. Weights as large as its weights are learned as fast."""
    torch.manual_seed(1)
    never = torch.zeros(V, dtype=torch.bool)
    chain = CRFTags(D, V, never)
    assert float(chain.P.weight.detach().std()) == pytest.approx(
        float(embedding_matrix(V, D).detach().std()), rel=0.1
    )
    single = SoftmaxTags(TokenHead(chain.P.weight, smoothing=0.0), never)
    h, y = rows(12)
    shape = (
        h.view(3, 4, D).requires_grad_(),
        y.view(3, 4),
        torch.tensor([[1] * 4, [1] * 3 + [0], [1] * 4]) > 0,
    )
    losses = [head.loss(*shape).loss for head in (chain, single)]
    assert value(losses[0]) == pytest.approx(value(losses[1]), rel=1e-5)
    slopes = [torch.autograd.grad(loss, shape[0])[0] for loss in losses]
    assert relative(*slopes) < 1e-5
