"""Cross-entropy against torch's own, and the sliced output layer against the definition."""

import pytest
import torch
from torch.nn import functional as F

from dragoman.losses.cross_entropy import cross_entropy, output_loss
from dragoman.losses.fast import output as fast


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_equals_torch(smoothing: float) -> None:
    torch.manual_seed(0)
    z, y = torch.randn(9, 13, dtype=torch.float64), torch.randint(0, 13, (9,))
    ours = cross_entropy(torch.log_softmax(z, dim=1), y, smoothing)
    assert torch.allclose(
        ours.loss, F.cross_entropy(z, y, label_smoothing=smoothing, reduction="sum"), atol=1e-12
    )
    assert torch.allclose(ours.nll, F.cross_entropy(z, y, reduction="sum"), rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("rows", [1, 511, 512, 1300])
def test_sliced_output_layer_equals_the_definition(rows: int) -> None:
    torch.manual_seed(rows)
    h, W, b = torch.randn(rows, 8), torch.randn(31, 8), torch.randn(31)
    y = torch.randint(0, 31, (rows,))
    results = []
    for loss in (output_loss, fast.output_loss):
        leaves = [x.clone().requires_grad_() for x in (h, W, b)]
        sums = loss(*leaves, y, 0.1)
        (sums.loss / 7).backward()
        results.append([sums.loss.detach(), sums.nll.detach(), *(x.grad for x in leaves)])
    for slow, quick in zip(*results, strict=True):
        assert float((slow - quick).norm() / slow.norm()) < 2e-6
    with torch.no_grad():
        again = fast.output_loss(h, W, b, y, 0.1)
    assert torch.allclose(again.loss, results[0][0], rtol=1e-6)


@pytest.mark.parametrize("rows", [1, 2, 511, 512, 513, 1300])
def test_slices_cover_every_row_once_in_few_sizes(rows: int) -> None:
    found = [range(rows)[part] for part in fast.slices(rows, torch.device("cpu"))]
    assert [row for part in found for row in part] == list(range(rows))
    assert {len(part) for part in found} <= {2**k for k in range(10)}
