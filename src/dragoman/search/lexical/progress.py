"""How constraints come to be met, for many hypotheses at once: `spans` is the definition."""

from __future__ import annotations

import torch

from dragoman.search.lexical.constraints import ConstraintProgress, ConstraintTensors, Start, TokenBoundaries
from dragoman.shapes import Bool, Int, Tensor


def advance(
    tables: ConstraintTensors, edges: TokenBoundaries, before: ConstraintProgress, y: Int[Tensor, "B K"]
) -> ConstraintProgress:
    """One token more for each hypothesis."""
    goes_on = edges.begins_with_letter[y].unsqueeze(-1)
    met = mark_met(tables, before.met, awaiting_boundary(tables, before) & ~goes_on)
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
    """Forms whose last token was just written."""
    end = (tables.length - 1).clamp_min(0)[:, None, :, None].expand(*progress.active.shape[:3], 1)
    return progress.active.gather(-1, end).squeeze(-1) & (tables.length > 0).unsqueeze(1)


def awaiting_boundary(tables: ConstraintTensors, progress: ConstraintProgress) -> Bool[Tensor, "B K F"]:
    """Closed forms that are whole, unless a letter follows."""
    return complete(tables, progress) & tables.closed.unsqueeze(1)


def eligible(tables: ConstraintTensors, met: Bool[Tensor, "B K G"]) -> Bool[Tensor, "B K G"]:
    """Constraints that are not met and whose turn it is."""
    behind = tables.behind.unsqueeze(1).expand(met.shape)
    return ~met & ((behind < 0) | met.gather(-1, behind.clamp_min(0)))


def per_form(tables: ConstraintTensors, value: Bool[Tensor, "B K G"]) -> Bool[Tensor, "B K F"]:
    """What holds for each form's constraint."""
    return value.gather(-1, tables.owner.unsqueeze(1).expand(-1, value.shape[1], -1))


def mark_met(
    tables: ConstraintTensors, met: Bool[Tensor, "B K G"], forms: Bool[Tensor, "B K F"]
) -> Bool[Tensor, "B K G"]:
    """`met`, with the constraints that these forms meet."""
    owner = tables.owner.unsqueeze(1).expand(forms.shape)
    count = torch.zeros_like(met, dtype=torch.long).scatter_add_(-1, owner, forms.long())
    return met | ((count > 0) & eligible(tables, met))


def met_at_end(tables: ConstraintTensors, progress: ConstraintProgress) -> Bool[Tensor, "B K G"]:
    """What is met if the output ends here: no letter follows."""
    return mark_met(tables, progress.met, awaiting_boundary(tables, progress))


def tokens_matched(tables: ConstraintTensors, progress: ConstraintProgress) -> Int[Tensor, "B K F"]:
    """Tokens of each form written so far, the most there can be; 0 for one that is whole."""
    L = progress.active.shape[-1]
    open_ = (
        progress.active
        & (torch.arange(1, L + 1, device=tables.length.device) < tables.length[..., None])[:, None]
    )
    return (open_ * torch.arange(1, L + 1, device=tables.length.device)).amax(-1)


def bank(tables: ConstraintTensors, progress: ConstraintProgress) -> Int[Tensor, "B K"]:
    """Tokens of constraints that a hypothesis has written (Post and Vilar 2018).

    Of what is begun only the furthest counts, and by the tokens that it still lacks, so that the forms of
    a constraint are worth the same.
    """
    met = met_at_end(tables, progress)
    weight = tables.weight.unsqueeze(1)
    done = (met * weight).sum(-1)
    so_far = tokens_matched(tables, progress)
    worth = tables.weight.gather(-1, tables.owner).unsqueeze(1) - tables.length.unsqueeze(1) + so_far
    begun = worth.masked_fill((so_far == 0) | ~per_form(tables, eligible(tables, met)), 0)
    return done + begun.amax(-1)


def bank_rank(tables: ConstraintTensors, progress: ConstraintProgress) -> Int[Tensor, "B K"]:
    """Banks in half steps: a phrase that awaits the end of its word stands below one that has it, else the
    many that have just written it would crowd out the few that may write the next."""
    met = met_at_end(tables, progress)
    is_waiting = (met & ~progress.met).any(-1) & ~met.all(-1)
    return 2 * bank(tables, progress) - is_waiting.long()


def next_tokens(
    tables: ConstraintTensors, edges: TokenBoundaries, progress: ConstraintProgress
) -> Int[Tensor, "B K C"]:
    """Tokens that begin or go on with a constraint whose turn it is; −1 where there is none."""
    due = per_form(tables, eligible(tables, met_at_end(tables, progress)))
    so_far = tokens_matched(tables, progress)
    every = tables.tokens.unsqueeze(1).expand(-1, so_far.shape[1], -1, -1)
    following = every.gather(-1, so_far.unsqueeze(-1)).squeeze(-1)
    first = every[..., 0].masked_fill(~may_start(tables, edges, progress.last), -1)
    following = following.masked_fill(so_far == 0, -1)
    return torch.cat([following.masked_fill(~due, -1), first.masked_fill(~due, -1)], dim=-1)
