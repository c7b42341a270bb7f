"""[training]: how long, how fast, how carefully."""

from __future__ import annotations

import re
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from dragoman.config.objective import ObjectivePart, TeacherForcingPart
from dragoman.config.section import Section

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}

PART = 2048  # tokens that a micro-batch has at least, where their number is not given
FEWEST_PARTS, MOST_PARTS = 2, 8
MOST_WARMUP = 400  # updates, where it is not set
IN_UPDATES = ("updates", "warmup", "validate_every", "checkpoint_every")  # settings that a budget replaces


def seconds(budget: str) -> float:
    """ "90s", "30m", "1h30m", "2d" → seconds."""
    parts = re.findall(r"(?<!\d)(\d++(?:\.\d++)?)([smhd])", budget)
    if not parts or "".join(n + u for n, u in parts) != budget.replace(" ", ""):
        raise ValueError(f'"{budget}" is not a time; write 90s, 30m, 1h30m or 2d')
    return sum(float(n) * _UNITS[u] for n, u in parts)


class TrainingConfig(Section):
    updates: int | None = Field(
        default=None, ge=1, examples=[2000], description="How many updates, exactly. Unset: see `budget`."
    )
    budget: str | None = Field(
        default=None,
        examples=["30m"],
        description=(
            'The time to train in, such as "30m", from reading the data to writing the model. The learning '
            "rate follows the clock, so such a run cannot be repeated to the bit."
        ),
    )
    batch_tokens: int = Field(
        default=4096,
        ge=2,
        description=(
            "Tokens of one update on the larger side, padding counted, over all ranks. Where it is not set, "
            "data of less than 7,000 pairs has fewer."
        ),
    )
    micro_batches: int | None = Field(
        default=None,
        ge=1,
        examples=[2],
        description=(
            "Parts in which each update is computed and summed in a fixed order, a power of two: gradient "
            "accumulation. As many ranks can share the work, and all give the same bits. Unset: 2, up to 8 "
            "in large batches, and as many as there are ranks at least; a run keeps the number it began with."
        ),
    )
    optimizer: Literal["adam", "adamw"] = Field(
        default="adamw", description="Adam, or Adam with decoupled decay."
    )
    lr: float = Field(
        default=2e-3,
        gt=0,
        description=(
            "Highest learning rate, reached after `warmup`. Unset, that of a Transformer is 0.5 / width, "
            "0.004 at most."
        ),
    )
    schedule: Literal["inverse_sqrt", "cosine", "linear", "constant"] = Field(
        default="cosine", description="How the learning rate falls after `warmup`."
    )
    warmup: int | None = Field(
        default=None,
        ge=0,
        examples=[400],
        description=(
            "Updates over which the learning rate rises from zero. Unset: a tenth of the run, 400 at most."
        ),
    )
    betas: tuple[float, float] = Field(
        default=(0.9, 0.98), description="Adam's memory of gradient and square."
    )
    eps: float = Field(default=1e-9, gt=0, description="Adam's ε.")
    weight_decay: float = Field(default=0.0, ge=0, description="Pull of the matrices towards zero.")
    clip: float = Field(default=1.0, ge=0, description="Longest gradient allowed; 0 does not clip.")
    label_smoothing: float = Field(default=0.1, ge=0, lt=1, description="Probability spread over all tokens.")
    objective: ObjectivePart = Field(
        default=TeacherForcingPart(), description="What is learned from besides the reference."
    )
    precision: Literal["auto", "fp32", "bf16"] = Field(
        default="auto",
        description="Arithmetic of the model; auto takes bf16 where the CPU multiplies it fast.",
    )
    seed: int = Field(default=1, ge=0, lt=2**63, description="Everything random follows from it.")
    threads: int = Field(
        default=0,
        ge=0,
        description="CPU threads per rank; 0 takes OMP_NUM_THREADS, or the rank's share of the cores.",
    )
    timeout: float = Field(
        default=60.0,
        gt=0,
        description="Seconds that a rank waits for another one in an update before it says who is missing.",
    )
    validate_every: int | None = Field(
        default=None, ge=1, examples=[500], description="Updates between validations."
    )
    checkpoint_every: int | None = Field(
        default=None, ge=1, examples=[500], description="Updates between saves."
    )
    keep: int = Field(default=2, ge=2, description="Newest checkpoints kept besides those for averaging.")
    average: int = Field(
        default=5,
        ge=1,
        description=(
            "Last checkpoints whose mean is compared with the best and the last weights on the validation "
            "pairs; the model is what does best."
        ),
    )
    patience: int = Field(
        default=0, ge=0, description="Validations without progress before stopping; 0 never stops."
    )
    valid_metric: Literal["loss", "bleu", "chrf", "exact_match"] = Field(
        default="chrf", description="What decides which checkpoint is best."
    )
    valid_decode: int = Field(
        default=200, ge=0, description="Validation pairs decoded for the metrics; 0 for none."
    )

    def warmup_of(self, updates: int) -> int:
        """Of a run of so many updates."""
        return min(MOST_WARMUP, updates // 10) if self.warmup is None else self.warmup

    def parts(self, ranks: int = 1) -> int:
        """Micro-batches of an update. Each costs something, however few tokens it has: so it has enough."""
        if self.micro_batches is not None:
            return self.micro_batches
        filled = max(FEWEST_PARTS, min(self.batch_tokens // PART, MOST_PARTS))
        return max(1 << (filled.bit_length() - 1), ranks)

    @field_validator("budget", mode="before")
    @classmethod
    def _is_a_time(cls, value: Any) -> Any:
        if isinstance(value, int | float) and not isinstance(value, bool):
            raise ValueError(f"{value:g} is not a time; write {value:g}s, {value:g}m or {value:g}h")
        if isinstance(value, str):
            seconds(value)
        return value

    @field_validator("micro_batches")
    @classmethod
    def _is_a_tree(cls, value: int | None) -> int | None:
        if value is not None and value & (value - 1):
            raise ValueError(
                "a power of two is needed, so that gradients add up in the same order on any ranks"
            )
        return value

    @model_validator(mode="after")
    def _one_length(self) -> TrainingConfig:
        if self.updates is not None and self.budget is not None:
            raise ValueError("give either updates or budget, not both")
        return self
