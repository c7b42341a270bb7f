"""The [training] section: length, optimizer, batches, validation and checkpoints."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from dragoman.config.auto_preset import DEFAULT_RATE
from dragoman.config.objective import ObjectivePart, TeacherForcingPart
from dragoman.config.section import Section

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}

Beta = Annotated[float, Field(ge=0, lt=1)]
MOST_WARMUP = 400  # updates, if warmup is unset
ValidMetric = Literal[
    "loss", "bleu", "chrf", "exact_match", "accuracy", "span_f1", "macro_f1", "intent", "cer", "wer"
]
DEVICE = r"auto|cpu|mps|(cuda|xpu)(:\d+)?"
IN_UPDATES = ("updates", "warmup", "validate_every", "checkpoint_every")  # settings that `budget` replaces


def seconds(budget: str) -> float:
    """Convert a time such as "90s", "30m", "1h30m" or "2d" to seconds."""
    parts = re.findall(r"(?<!\d)(\d++(?:\.\d++)?)([smhd])", budget)
    if not parts or "".join(n + u for n, u in parts) != budget.replace(" ", ""):
        is_number = re.fullmatch(r"\d+(\.\d+)?", budget)
        times = f"{budget}s, {budget}m or {budget}h" if is_number else "90s, 30m, 1h30m or 2d"
        raise ValueError(f'"{budget}" is not a time; write {times}')
    return sum(float(n) * _UNITS[u] for n, u in parts)


class TrainingConfig(Section):
    updates: int | None = Field(
        default=None, ge=1, examples=[2000], description="Exact number of updates. If unset, see `budget`."
    )
    budget: str | None = Field(
        default=None,
        examples=["30m"],
        description=(
            'Total time, such as "30m", from reading the data to writing the model. The learning rate '
            "follows the clock, so such a run is not reproducible bit for bit."
        ),
    )
    init_from: str | None = Field(
        default=None,
        examples=["../en-de/model"],
        description=(
            "Folder of a trained model to start from (fine-tuning): its weights and its vocabulary. [text], "
            "[model] and [search] are then those of that model, where they are not set."
        ),
    )
    batch_tokens: int = Field(
        default=4096,
        ge=2,
        description=(
            "Tokens per update on the longer side, including padding, over all ranks; some batches have a "
            "few per cent more. A frame is a token; a spelled word is one, and one for each of its bytes. If "
            "unset, corpora of less than 7,000 pairs and short budgets use fewer; frames and long lines of "
            "spelled words use more, for 16 lines per update."
        ),
    )
    micro_batches: int | None = Field(
        default=None,
        ge=1,
        examples=[2],
        description=(
            "Gradient accumulation: the number of parts in which each rank computes its share of an update. "
            "If unset: 1, doubled until a part fits into the memory of a GPU; a resumed run keeps its number."
        ),
    )
    lr: float = Field(
        default=DEFAULT_RATE,
        gt=0,
        description=(
            "Peak learning rate, reached after `warmup`. If unset, it follows from the model: 0.5 / width "
            "for a Transformer, at most 0.004; 0.002 for others, and 0.004 for rnn-small, luong2015 and "
            "gnmt2016 if they translate, and for recurrent networks under a budget of less than a core-hour. "
            "With `init_from`, half of that, or of 0.002."
        ),
    )
    schedule: Literal["inverse_sqrt", "cosine", "linear", "warmup_stable_decay", "constant"] = Field(
        default="cosine",
        description=(
            "How the learning rate decays after `warmup`. `warmup_stable_decay` keeps it until the last 30 % "
            "of the run, and is the default under a budget of less than a core-hour, except with `init_from`."
        ),
    )
    warmup: int | None = Field(
        default=None,
        ge=0,
        examples=[400],
        description=(
            "Updates over which the learning rate rises from zero. If unset: a tenth of the run, at most 400."
        ),
    )
    betas: tuple[Beta, Beta] = Field(default=(0.9, 0.98), description="Adam's β₁ and β₂.")
    eps: float = Field(default=1e-9, gt=0, description="Adam's ε.")
    weight_decay: float = Field(
        default=0.0, ge=0, description="AdamW's decoupled weight decay, applied to matrices."
    )
    clip: float = Field(default=1.0, ge=0, description="Maximum gradient norm; 0 disables clipping.")
    label_smoothing: float = Field(
        default=0.1, ge=0, lt=1, description="Probability mass spread over all tokens."
    )
    objective: ObjectivePart = Field(default=TeacherForcingPart(), description="The training objective.")
    device: str = Field(
        default="auto",
        pattern=DEVICE,
        description=(
            "cpu, cuda, cuda:N, xpu, xpu:N or mps; auto uses a GPU if PyTorch can, else the CPU. Each rank "
            "of torchrun uses the GPU with its local number. Nothing was ever run on a real GPU."
        ),
    )
    precision: Literal["auto", "fp32", "tf32", "bf16"] = Field(
        default="auto",
        description=(
            "Numeric precision of the model; auto uses bf16 if the device multiplies it fast, on a CPU for "
            "Transformers and ConvS2S of width 256 and more."
        ),
    )
    seed: int = Field(default=1, ge=0, lt=2**63, description="Random seed of the run.")
    threads: int = Field(
        default=0,
        ge=0,
        description="CPU threads per rank; 0 uses OMP_NUM_THREADS, or the rank's share of the cores.",
    )
    timeout: float = Field(
        default=60.0,
        gt=0,
        description="Seconds that a rank waits for the others during an update before it gives up.",
    )
    validate_every: int | None = Field(
        default=None, ge=1, examples=[500], description="Updates between validations."
    )
    checkpoint_every: int | None = Field(
        default=None, ge=1, examples=[500], description="Updates between checkpoints."
    )
    average: int = Field(
        default=5,
        ge=1,
        description=(
            "Number of last checkpoints to average. The average, the best and the last weights are compared "
            "on the validation pairs, and the best of them becomes the model."
        ),
    )
    patience: int = Field(
        default=0,
        ge=0,
        description="Validations without improvement before stopping early; 0 disables early stopping.",
    )
    valid_metric: ValidMetric = Field(
        default="chrf",
        description=(
            "The metric that selects the best checkpoint: the loss, or one of those that the task measures."
        ),
    )
    valid_decode: int = Field(
        default=200,
        ge=0,
        description="Pairs to decode at each validation, up to 500 at the end; 0 for none.",
    )

    report: bool = Field(
        default=True,
        description=(
            "Write report.html at the end: scores of the decoded validation pairs beside baselines, errors, "
            "learning curves and what the run was made of. It takes seconds."
        ),
    )

    def warmup_of(self, updates: int) -> int:
        """Return the warmup of a run of this many updates."""
        return min(MOST_WARMUP, updates // 10) if self.warmup is None else self.warmup

    @field_validator("precision", mode="before")
    @classmethod
    def _no_fp16(cls, precision: object) -> object:
        if precision in ("fp16", "float16"):
            raise ValueError(
                "fp16 overflows in the sums of the loss; bf16 has the range of fp32 and is as fast"
            )
        return precision

    @field_validator("budget", mode="before")
    @classmethod
    def _is_a_time(cls, value: Any) -> Any:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number or isinstance(value, str):
            seconds(str(value))
        return value

    @model_validator(mode="after")
    def _one_length(self) -> TrainingConfig:
        if self.updates is not None and self.budget is not None:
            raise ValueError("set either updates or budget, not both")
        return self
