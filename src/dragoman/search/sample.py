"""Sampling: each token is drawn from p, so that an output is as frequent as it is probable."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from numpy.typing import NDArray

from dragoman.device import widest_float
from dragoman.nn.dropout import uniform
from dragoman.protocols import Stepper, real_ids, send
from dragoman.search.batch_invariance import rows_to_keep
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.sample_keys import Keys, keys, uniform_at
from dragoman.search.sampling import Sampling
from dragoman.search.scores import refuse_nan
from dragoman.search.topk import keep_top_k, keep_top_p, mask_never_written, sample_index
from dragoman.shapes import Bool, Float, Int, Shaped, Tensor
from dragoman.text.specials import BOS, EOS, PAD

# (log p with <pad> and <s> masked, sample index of each row on the CPU, step) → one token per row
Choose = Callable[[Tensor, Tensor, int], Tensor]
COLDEST = torch.finfo(torch.float32).tiny  # lower temperatures underflow to 0, and 0 / 0 is NaN


class Samples(NamedTuple):
    """The samples, those of a sentence adjacent: each with </s>, unless truncated, then padded with <pad>."""

    tokens: Int[Tensor, "N T"]
    log_p: Float[Tensor, " N"]  # Σ log p, by the model


def by_rank_stream(log_p: Float[Tensor, "N V"], rows: Int[Tensor, " N"], step: int) -> Int[Tensor, " N"]:
    """Sample from the model's distribution with the random number stream of training."""
    return sample_index(log_p, uniform(len(rows), log_p.device))


@torch.inference_mode()
def sample(
    stepper: Stepper,
    src: Shaped[Tensor, "B S *f"],
    keep: Bool[Tensor, "B S"],
    *,
    size: int,
    max_length: int,
    choose: Choose = by_rank_stream,
) -> Samples:
    """Draw `size` outputs per sentence. The host keeps them, and reads the tokens of a step in one transfer.

    Σ log p is NaN if the model returned NaN for any token that could be written.
    """
    rows = torch.arange(len(src) * size)  # that are still in the batch
    tokens = torch.full((len(rows), max_length), PAD)
    log_p = torch.zeros(len(rows), dtype=torch.float64)
    y, is_open = torch.full_like(rows, BOS), torch.ones_like(rows, dtype=torch.bool)
    state, length = stepper.start(src, keep, size), 0
    while length < max_length and bool(is_open.any()):
        step = stepper.step(send(y, src.device), state)
        state = step.state
        drawn, p = draw(step.log_p, choose, rows, length)
        y = drawn.masked_fill(~is_open, PAD)
        log_p[rows] += p.where(is_open, 0.0)
        tokens[rows, length] = y
        is_open, length = is_open & (y != EOS), length + 1
        still = is_open.view(-1, size).any(dim=1).tolist()
        indices = rows_to_keep(still)
        if len(indices) < len(still):
            kept = torch.tensor(indices)
            some = (kept.unsqueeze(1) * size + torch.arange(size)).flatten()
            state = state.keep_sentences(send(kept, src.device), send(some, src.device))
            rows, y, is_open = rows[some], y[some], is_open[some]
    return Samples(tokens[:, :length], log_p)


def draw(
    log_p: Float[Tensor, "N V"], choose: Choose, rows: Int[Tensor, " N"], step: int
) -> tuple[Int[Tensor, " N"], Float[Tensor, " N"]]:
    """Return a token for each row and its log p, on the CPU: fp32 represents every token exactly."""
    possible = mask_never_written(log_p)
    y = choose(possible, rows, step)
    most = possible.amax(dim=1)  # NaN if one of them is
    p = torch.where(most.isnan(), most, log_p.gather(1, y.unsqueeze(1)).squeeze(1))
    if p.device.type == "cpu":
        return y, p
    token, p = torch.stack((y.to(p), p)).cpu()
    return token.long(), p


class SampleSearch(Sampling):
    def __call__(
        self, stepper: Stepper, src: Shaped[Tensor, "B S *f"], keep: Bool[Tensor, "B S"]
    ) -> list[list[Hypothesis]]:
        sources = real_frames(src, keep) if src.dim() == 3 else real_ids(src, keep)
        choose = partial(self.choose, keys=keys(self.seed, sources, self.size))
        found = sample(stepper, src, keep, size=self.size, max_length=self.max_length, choose=choose)
        lengths = (found.tokens != PAD).sum(dim=1).tolist()
        rows = zip(found.tokens.tolist(), lengths, found.log_p.tolist(), strict=True)
        every = [self.hypothesis(tokens[:length], log_p) for tokens, length, log_p in rows]
        return [every[i : i + self.size] for i in range(0, len(every), self.size)]

    def choose(
        self, log_p: Float[Tensor, "N V"], rows: Int[Tensor, " N"], step: int, *, keys: Keys
    ) -> Int[Tensor, " N"]:
        u = torch.from_numpy(uniform_at(keys[rows.numpy()], step)).to(widest_float(log_p.device))
        return sample_index(self.shaped(log_p), send(u, log_p.device))

    def shaped(self, log_p: Float[Tensor, "N V"]) -> Float[Tensor, "N V"]:
        """Return log p / τ, up to a constant, restricted to the top k and then to the nucleus."""
        log_p = log_p - log_p.amax(-1, keepdim=True)
        log_p = log_p / max(self.temperature, COLDEST) if self.temperature != 1.0 else log_p
        log_p = log_p if self.top_k is None else keep_top_k(log_p, self.top_k)
        return log_p if self.top_p == 1.0 else keep_top_p(log_p, self.top_p)

    def hypothesis(self, tokens: list[int], log_p: float) -> Hypothesis:
        refuse_nan(log_p)
        finished = tokens[-1:] == [EOS]
        score = self.normalise(log_p, len(tokens))
        return Hypothesis(tuple(tokens[:-1] if finished else tokens), score, log_p, finished)


def real_frames(src: Float[Tensor, "B S F"], keep: Bool[Tensor, "B S"]) -> list[NDArray[Any]]:
    return [frames[mask] for frames, mask in zip(src.cpu().numpy(), keep.cpu().numpy(), strict=True)]
