"""Constraint progress for a batch of hypotheses; `constraints.matches` is the definition."""

from __future__ import annotations

import torch

from dragoman.search.lexical.constraints import ConstraintProgress, ConstraintTensors, Start, TokenBoundaries
from dragoman.shapes import Bool, Int, Tensor


def advance(
    tables: ConstraintTensors, edges: TokenBoundaries, before: ConstraintProgress, y: Int[Tensor, "B K"]
) -> ConstraintProgress:
    """Return the progress after one more token for each hypothesis."""
    letter_follows = edges.begins_with_letter[y].unsqueeze(-1)
    met = mark_met(tables, before.met, awaiting_boundary(tables, before) & ~letter_follows)
    hit = tables.tokens.unsqueeze(1) == y[:, :, None, None]
    first = may_start(tables, edges, before.last).unsqueeze(-1)
    active = torch.cat([first, before.active[..., :-1]], dim=-1) & hit
    now = ConstraintProgress(active, met, y)
    return now._replace(met=mark_met(tables, met, complete(tables, now) & ~tables.closed.unsqueeze(1)))


def may_start(
    tables: ConstraintTensors, edges: TokenBoundaries, last: Int[Tensor, "B K"]
) -> Bool[Tensor, "B K F"]:
    opens = edges.opens[last].unsqueeze(-1)
    return (tables.start == Start.ANYWHERE).unsqueeze(1) | opens


def complete(tables: ConstraintTensors, progress: ConstraintProgress) -> Bool[Tensor, "B K F"]:
    """Return the forms whose last token was just written."""
    end = (tables.length - 1).clamp_min(0)[:, None, :, None].expand(*progress.active.shape[:3], 1)
    return progress.active.gather(-1, end).squeeze(-1) & (tables.length > 0).unsqueeze(1)


def awaiting_boundary(tables: ConstraintTensors, progress: ConstraintProgress) -> Bool[Tensor, "B K F"]:
    """Return the closed forms that are complete, unless a letter follows."""
    return complete(tables, progress) & tables.closed.unsqueeze(1)


def eligible(tables: ConstraintTensors, met: Bool[Tensor, "B K G"]) -> Bool[Tensor, "B K G"]:
    """Return the constraints that are not met and do not wait for another one."""
    after = tables.after.unsqueeze(1).expand(met.shape)
    return ~met & ((after < 0) | met.gather(-1, after.clamp_min(0)))


def per_form(tables: ConstraintTensors, value: Bool[Tensor, "B K G"]) -> Bool[Tensor, "B K F"]:
    """Return for each form the value of its constraint."""
    return value.gather(-1, tables.owner.unsqueeze(1).expand(-1, value.shape[1], -1))


def mark_met(
    tables: ConstraintTensors, met: Bool[Tensor, "B K G"], forms: Bool[Tensor, "B K F"]
) -> Bool[Tensor, "B K G"]:
    """Return `met`, including the constraints that these forms meet."""
    owner = tables.owner.unsqueeze(1).expand(forms.shape)
    count = torch.zeros_like(met, dtype=torch.long).scatter_add_(-1, owner, forms.long())
    return met | ((count > 0) & eligible(tables, met))


def met_at_end(tables: ConstraintTensors, progress: ConstraintProgress) -> Bool[Tensor, "B K G"]:
    """Return the constraints that are met if the output ends here, so that no letter follows."""
    return mark_met(tables, progress.met, awaiting_boundary(tables, progress))


def tokens_matched(tables: ConstraintTensors, progress: ConstraintProgress) -> Int[Tensor, "B K F"]:
    """Return the length of the longest incomplete match of each form so far; 0 if there is none."""
    L = progress.active.shape[-1]
    open_ = (
        progress.active
        & (torch.arange(1, L + 1, device=tables.length.device) < tables.length[..., None])[:, None]
    )
    return (open_ * torch.arange(1, L + 1, device=tables.length.device)).amax(-1)


def bank(tables: ConstraintTensors, progress: ConstraintProgress) -> Int[Tensor, "B K"]:
    """Return the number of constraint tokens that a hypothesis has written (Post and Vilar 2018).

    Of the forms in progress only the furthest counts, measured by the tokens still missing, so that all forms
    of a constraint are worth the same.
    """
    met = met_at_end(tables, progress)
    weight = tables.weight.unsqueeze(1)
    done = (met * weight).sum(-1)
    matched = tokens_matched(tables, progress)
    worth = tables.weight.gather(-1, tables.owner).unsqueeze(1) - tables.length.unsqueeze(1) + matched
    begun = worth.masked_fill((matched == 0) | ~per_form(tables, eligible(tables, met)), 0)
    return done + begun.amax(-1)


def bank_rank(tables: ConstraintTensors, progress: ConstraintProgress) -> Int[Tensor, "B K"]:
    """Return the banks in half steps: a phrase that awaits the end of its word ranks below a finished one.

    Otherwise the many hypotheses that have just written it would crowd out the few that may write the next.
    """
    met = met_at_end(tables, progress)
    is_waiting = (met & ~progress.met).any(-1) & ~met.all(-1)
    return 2 * bank(tables, progress) - is_waiting.long()


def next_tokens(
    tables: ConstraintTensors, edges: TokenBoundaries, progress: ConstraintProgress
) -> Int[Tensor, "B K C"]:
    """Return the tokens that begin or continue an eligible constraint; −1 if there is none."""
    is_eligible = per_form(tables, eligible(tables, met_at_end(tables, progress)))
    matched = tokens_matched(tables, progress)
    every = tables.tokens.unsqueeze(1).expand(-1, matched.shape[1], -1, -1)
    following = every.gather(-1, matched.unsqueeze(-1)).squeeze(-1)
    first = every[..., 0].masked_fill(~may_start(tables, edges, progress.last), -1)
    following = following.masked_fill(matched == 0, -1)
    return torch.cat([following.masked_fill(~is_eligible, -1), first.masked_fill(~is_eligible, -1)], dim=-1)
