"""The equations of a step are those that the network computes, for every decoder."""

from __future__ import annotations

import pytest
import torch

from dragoman.inspection.attention import labels
from dragoman.inspection.capture import Capture
from dragoman.inspection.equations import step_equations
from dragoman.inspection.forced_attention import forced_attention
from support.pairs import PAIRS, batch_of, model_of

SOURCE = tuple(f"x{i}" for i in range(6))


@pytest.mark.parametrize("pair", PAIRS, ids=" → ".join)
def test_they_are_those_of_the_network(pair: tuple[str, str]) -> None:
    model, batch = model_of(pair).double().eval(), batch_of([(6, 4)])
    with torch.no_grad(), Capture(model) as seen:
        log_p = model.log_p(batch)[0]
    cross = [w for name, w in seen.attention.items() if name.startswith("decoder") and "cross" in name]
    cross = cross or [w for name, w in seen.attention.items() if name.startswith("decoder")]
    for step in range(4):
        found = {one.name: one for one in step_equations(model, batch, step, SOURCE)}
        assert found["probabilities"].values == pytest.approx(log_p[step].exp().tolist(), abs=1e-6)
        z = torch.tensor(found["logits"].values, dtype=torch.double)
        assert torch.allclose(z.log_softmax(0), log_p[step].double(), atol=1e-6)
        if "weights" in found:
            assert found["weights"].labels == labels(SOURCE, cross[-1].shape[3])
            assert found["weights"].values == pytest.approx(cross[-1][0, 0, step].tolist(), abs=1e-12)
            e = torch.tensor(found["energies"].values, dtype=torch.double)
            assert torch.allclose(e.softmax(0), torch.tensor(found["weights"].values, dtype=torch.double))
            assert all(one.formula for one in found.values())
        else:
            assert not cross


@pytest.mark.parametrize(
    "pair", [("transformer", "transformer"), ("bilstm", "bahdanau"), ("conv", "conv")], ids=" → ".join
)
def test_forced_weights_leave_the_energies(pair: tuple[str, str]) -> None:
    model, batch = model_of(pair).double().eval(), batch_of([(6, 4)])
    usual = {one.name: one.values for one in step_equations(model, batch, 0, SOURCE)}
    with forced_attention(model, {0: 5}):
        forced = {one.name: one.values for one in step_equations(model, batch, 0, SOURCE)}
    assert forced["weights"] == (0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    assert forced["context"] != usual["context"]
    if pair[1] == "bahdanau":
        assert forced["energies"] == usual["energies"]
