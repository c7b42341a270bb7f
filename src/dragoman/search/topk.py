"""Token selection: masking, argmax and top-k with a fixed order of ties, and sampling."""

from __future__ import annotations

import torch

from dragoman.device import widest_float
from dragoman.shapes import Float, Int, Tensor
from dragoman.text.specials import BOS, PAD

BLOCK_TOKENS = 32  # tokens per block in `topk_sums`


def mask_never_written(log_p: Float[Tensor, "N V"]) -> Float[Tensor, "N V"]:
    """Mask <pad> and <s>, which are never part of an output."""
    masked = log_p.clone()
    masked[..., PAD] = masked[..., BOS] = -torch.inf
    return masked


def argmax(log_p: Float[Tensor, "N V"]) -> Int[Tensor, " N"]:
    """Return the most probable token other than <pad> and <s>, the first if several are equal.

    On a CPU this uses NumPy, which reads a row at memory speed; torch takes twenty times as long.
    """
    if log_p.device.type != "cpu":
        return mask_never_written(log_p).argmax(-1)
    token = torch.from_numpy(log_p.numpy().argmax(-1))
    masked = ((token == PAD) | (token == BOS)).nonzero().squeeze(-1)
    if len(masked):
        token[masked] = mask_never_written(log_p[masked]).argmax(-1)
    return token


def topk(x: Float[Tensor, "B N"], k: int) -> tuple[Float[Tensor, "B k"], Int[Tensor, "B k"]]:
    """Return the k largest values of each row and their indices, largest first, ties in index order.

    `Tensor.topk` does not define the order of equal values; it differs between devices and builds.
    """
    if x.device.type != "cpu":  # without a branch that the host must wait for
        value, index = x.sort(dim=-1, descending=True, stable=True)
        return value[:, :k], index[:, :k]
    value, index = x.topk(min(k + 1, x.shape[-1]), dim=-1)
    same = (value[:, 1:] == value[:, :-1]) & (value[:, 1:] > -torch.inf)
    tied = same.any(-1).nonzero().squeeze(-1)
    value, index = value[:, :k], index[:, :k]
    if len(tied):
        rows = x[tied]
        index[tied] = rows.argsort(dim=-1, descending=True, stable=True)[:, :k]
        value[tied] = rows.gather(-1, index[tied])
    return value, index


def topk_sums(
    p: Float[Tensor, "B W"], log_p: Float[Tensor, "N V"], k: int
) -> tuple[Float[Tensor, "B k"], Int[Tensor, "B k"]]:
    """Return `topk` of p_w + log_p_wv over all w and v, without computing all the sums.

    The k best tokens are in the k blocks with the largest maxima. Finding these reads each row once;
    `topk` over whole rows takes sixty times as long.
    """
    B, W = p.shape
    V = log_p.shape[-1]
    count = -(-V // BLOCK_TOKENS)
    if W * count <= k:
        return topk((p.unsqueeze(-1) + mask_never_written(log_p).view(B, W, V)).flatten(1), k)
    maxima, block = (block_maxima(log_p).view(B, W, count) + p.unsqueeze(-1)).flatten(1).topk(k + 1, dim=-1)
    block = block[:, :k].sort(dim=-1).values
    w, first = block // count, block % count * BLOCK_TOKENS
    position = (w * V + first).unsqueeze(-1) + torch.arange(BLOCK_TOKENS, device=p.device)
    position = position.flatten(1).clamp_max_(W * V - 1)
    x = log_p.view(B, W * V).gather(1, position).view(B, k, BLOCK_TOKENS) + p.gather(1, w).unsqueeze(-1)
    value, index = topk(mask_block(x, first, V).flatten(1), k)
    index = position.gather(1, index)
    if p.device.type != "cpu":  # equal values of different blocks are rare, and the host would wait
        return value, index
    # A skipped block may contain a value that is equal to the k-th best and precedes it.
    tied = ((maxima[:, -1] >= value[:, -1]) & (value[:, -1] > -torch.inf)).nonzero().squeeze(-1)
    if len(tied):
        sums = p[tied].unsqueeze(-1) + mask_never_written(log_p).view(B, W, V)[tied]
        value[tied], index[tied] = topk(sums.flatten(1), k)
    return value, index


def block_maxima(log_p: Float[Tensor, "N V"]) -> Float[Tensor, "N C"]:
    """Return the maximum of each block of tokens, ignoring <pad> and <s>."""
    whole = log_p.shape[-1] // BLOCK_TOKENS
    parts = [mask_never_written(log_p[:, :BLOCK_TOKENS]).amax(-1, keepdim=True)]
    if whole > 1:
        parts.append(
            log_p[:, BLOCK_TOKENS : whole * BLOCK_TOKENS].unflatten(1, (whole - 1, BLOCK_TOKENS)).amax(-1)
        )
    if log_p.shape[-1] > max(whole, 1) * BLOCK_TOKENS:
        parts.append(log_p[:, whole * BLOCK_TOKENS :].amax(-1, keepdim=True))
    return torch.cat(parts, dim=1)


def mask_block(x: Float[Tensor, "B k C"], first: Int[Tensor, "B k"], V: int) -> Float[Tensor, "B k C"]:
    """Set to −∞, in place, what may not be chosen in the blocks that begin with the tokens `first`."""
    is_first = first == 0
    for token in (PAD, BOS):
        x[..., token].masked_fill_(is_first, -torch.inf)
    if rest := V % BLOCK_TOKENS:  # the rest of the last block belongs to the next row
        x[..., rest:].masked_fill_((first > V - BLOCK_TOKENS).unsqueeze(-1), -torch.inf)
    return x


def keep_top_k(log_p: Float[Tensor, "N V"], k: int) -> Float[Tensor, "N V"]:
    """Keep the k most probable tokens and mask the others (Fan et al. 2018)."""
    if k >= log_p.shape[-1]:
        return log_p
    value, index = topk(log_p, k)
    return torch.full_like(log_p, -torch.inf).scatter(-1, index, value)


def keep_top_p(log_p: Float[Tensor, "N V"], p: float) -> Float[Tensor, "N V"]:
    """Keep the smallest set of most probable tokens with a total of at least p (Holtzman et al. 2020)."""
    value, index = log_p.to(widest_float(log_p.device)).softmax(-1).sort(dim=-1, descending=True, stable=True)
    outside = value.cumsum(dim=-1) - value >= p
    return log_p.masked_fill(torch.zeros_like(outside).scatter(-1, index, outside), -torch.inf)


def sample_index(log_p: Float[Tensor, "N V"], u: Float[Tensor, " N"]) -> Int[Tensor, " N"]:
    """Sample one token per row by inverse transform sampling, with u ∈ [0, 1)."""
    total = log_p.to(widest_float(log_p.device)).exp().cumsum(dim=-1)
    u = u.to(total.dtype).clamp_max(1.0 - torch.finfo(total.dtype).eps / 2)  # in fp32 it may round to 1
    position = torch.searchsorted(total, u.unsqueeze(1) * total[:, -1:], right=True).squeeze(1)
    return position.clamp_max(log_p.shape[-1] - 1)
