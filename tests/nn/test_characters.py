"""Words from characters: against torch's convolution, by hand, and the same in any company."""

import pytest
import torch
from torch.nn import functional as F

from dragoman.nn.characters import CharacterCNN, Filters, Highway

SPELLING = torch.tensor(
    [[1, 3, 2, 0, 0, 0, 0], [1, 4, 5, 2, 0, 0, 0], [1, 5, 5, 4, 4, 6, 2], [1, 2, 0, 0, 0, 0, 0]]
)


def words(widths: tuple[int, ...] = (1, 2, 4), size: int = 6) -> CharacterCNN:
    torch.manual_seed(0)
    return CharacterCNN(SPELLING, features=3, widths=widths, filters=2, highways=2, size=size).double()


@pytest.mark.parametrize("width", [1, 2, 5])
def test_filters_are_a_convolution_and_its_maximum(width: int) -> None:
    torch.manual_seed(width)
    filters = Filters(3, width, 8).double()
    c = torch.randn(4, 7, 3, dtype=torch.float64)
    weight = filters.W.weight.view(8, 3, width)
    expected = torch.tanh(F.conv1d(c.transpose(1, 2), weight, filters.W.bias)).amax(dim=2)
    assert torch.allclose(filters(c, torch.full((4,), 7)), expected, rtol=0.0, atol=1e-12)


def test_highway_carries_what_its_gate_does_not_take() -> None:
    torch.manual_seed(0)
    highway, y = Highway(5).double(), torch.randn(3, 5, dtype=torch.float64)
    torch.nn.init.constant_(highway.W_T.bias, -100.0)
    assert torch.allclose(highway(y), y, rtol=0.0, atol=1e-12)
    torch.nn.init.constant_(highway.W_T.bias, 100.0)
    assert torch.allclose(highway(y), torch.relu(highway.W_H(y)), rtol=0.0, atol=1e-12)


def test_word_is_the_same_alone_and_beside_longer_ones() -> None:
    model = words().eval()
    together = model(torch.tensor([[0, 1], [2, 3]]))
    for word in range(4):
        alone = model(torch.tensor([[word]]))
        assert torch.allclose(alone[0, 0], together[word // 2, word % 2], rtol=0.0, atol=1e-12)


def test_word_spelt_by_hand() -> None:
    """ "begin 4 5 end" with filters of width 2 sees three windows."""
    model = words(widths=(2,)).eval()
    c = model.characters.weight[torch.tensor([1, 4, 5, 2])]
    filters = model.filters[0].W
    windows = [
        filters.bias + filters.weight.view(-1, 3, 2).mul(c[i : i + 2].t()).sum((1, 2)) for i in range(3)
    ]
    z = torch.tanh(torch.stack(windows).amax(dim=0)).unsqueeze(0)
    for highway in model.highways:
        z = highway(z)
    assert torch.allclose(model(torch.tensor([[1]]))[0], model.P(z), rtol=0.0, atol=1e-12)


def test_each_word_once_in_training_gives_the_same_values_and_gradients() -> None:
    y = torch.tensor([[2, 2, 0], [1, 2, 3]])
    weights = torch.randn(2, 3, 6, dtype=torch.float64)
    found = []
    for model in (words().train(), words().eval()):
        x = model(y)
        (x * weights).sum().backward()
        found.append([x.detach(), *(p.grad for p in model.parameters())])
    for once, each in zip(*found, strict=True):
        assert torch.allclose(once, each, rtol=0.0, atol=1e-12)


def test_no_character_has_no_features_and_no_gradient() -> None:
    model = words()
    model(torch.tensor([[0, 3]])).sum().backward()
    assert not model.characters.weight[0].any()
    assert not model.characters.weight.grad[0].any()


def test_parameters_of_the_papers_small_model() -> None:
    """15 features, widths 1–6 with 25·w filters (525 in all), one highway (Kim et al. 2016, table 2)."""
    torch.manual_seed(0)
    model = CharacterCNN(SPELLING, 15, (1, 2, 3, 4, 5, 6), 25, 1, 300)
    filters = sum(25 * w * (15 * w + 1) for w in range(1, 7))
    highway = 2 * (525 * 525 + 525)
    assert sum(p.numel() for p in model.parameters()) == 7 * 15 + filters + highway + 525 * 300
    assert "spelling" not in model.state_dict()


def test_vectors_are_about_as_long_as_rows_of_a_table() -> None:
    torch.manual_seed(0)
    model = CharacterCNN(SPELLING, 15, (1, 2, 3, 4, 5, 6), 25, 1, 256).eval()
    lengths = model(torch.arange(4).unsqueeze(0)).norm(dim=2)
    assert bool(((lengths > 0.3) & (lengths < 1.5)).all())
