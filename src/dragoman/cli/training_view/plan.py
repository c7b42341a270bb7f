"""The plan of a run as text: model, data, time, memory and output files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dragoman.cli.format import duration, format_bytes, format_count, plural, span
from dragoman.cli.model_text import exports, in_full, units
from dragoman.cli.training_view.preparation import left_out
from dragoman.config.presets import preset_of
from dragoman.config.root import Config
from dragoman.data.build import DataFacts
from dragoman.durable import free_bytes
from dragoman.tasks.search_choice import MOST_PAIRS, is_open
from dragoman.training.plan import Plan
from dragoman.training.state.checkpoint import largest

SIZES = (
    (1_000, "are very few: enough to learn a simple rule, not a language."),
    (10_000, "are few: enough for a narrow, regular task, not for translation."),
    (100_000, "are enough for a regular task; for translation, expect good results on similar texts only."),
    (1_000_000, "are a fair corpus: expect good results on similar texts, and mixed ones on others."),
    (10_000_000, "are many: what limits the model now is its size and the time it trains."),
)
MOST = "are a great many: a larger model and more time will use them better."


def describe(plan: Plan, config: Config, out: Path, prepared: DataFacts) -> Iterator[str]:
    timed = plural(plan.timed_updates, "update")
    yield f"Plan   {timed} timed on this machine in {plan.precision} · {processors(plan)}"
    if plan.unused_gpu:
        yield "  No GPU is used: PyTorch needs the build for it, or training.device names another device."
    yield f"  model   {in_full(config.model)}"
    if config.model.why and (preset := preset_of(config.model)):
        yield f"          {preset}: {config.model.why}"
    if config.training.init_from:
        yield f"          starts from the weights and the vocabulary of {config.training.init_from}"
    parameters = format_count(plan.parameters)
    yield f"          {parameters} parameters · {units(config, prepared['vocabulary'])}"
    yield f"  data    {plural(plan.pairs, 'pair')} · {format_count(prepared['tgt_tokens'])} target tokens"
    yield f"          {validation_data(config, prepared['watched'])}"
    if is_open(config) and config.training.valid_decode:
        judges = plural(min(MOST_PAIRS, prepared["watched"]), "pair")
        yield f"          by greedy search; {judges} then decide whether the beam must be careful"
    if prepared["leaked"]:
        leaked = f"{prepared['leaked']:,} of these {plural(prepared['watched'], 'pair')}"
        yield f"          ! {leaked} are also in the training data: scores on them will be too high"
    if lost := left_out(prepared):
        yield f"          left out: {' · '.join(lost)}"
    range_ = "" if plan.budget else f" ({span(*plan.range)})"
    yield f"  time    {duration(plan.seconds)}{range_} · {plan.tokens_per_second:,.0f} tokens/s"
    yield f"          {length(plan, config)}"
    if plan.warmup > plan.updates / 2:
        rise = "would rise to the end" if plan.warmup >= plan.updates else "rises most of the time"
        yield f"          ! the learning rate {rise}: training.warmup={plan.updates // 10} leaves more time"
    if plan.memory:
        yield f"  memory  {format_bytes(plan.memory)}"
    yield f"  disk    {disk(largest(plan.parameters, config.training), free_bytes(out))}"
    yield f"  export  {exports(config.model)}"
    yield f"  files   {out / 'model'} · checkpoints, events.jsonl, settings.toml next to it"
    if len(config.model.parts) == 2:  # how many examples labels or a text need is another question
        yield f"{plural(plan.pairs, 'pair')} {judgement(plan.pairs)}"


def disk(needed: int, free: int) -> str:
    short = ", which is too little" if free < needed else ""
    return f"{format_bytes(needed)} for checkpoints and the model · {format_bytes(free)} free{short}"


def processors(plan: Plan) -> str:
    threads = plural(plan.threads, "thread")
    device = (
        ""
        if plan.device == "cpu"
        else f" on {plan.device.partition(':')[0] if plan.ranks > 1 else plan.device}"
    )
    return f"{plan.ranks} ranks of {threads}{device}" if plan.ranks > 1 else threads + device


def validation_data(config: Config, count: int) -> str:
    pairs = plural(count, "pair")
    if config.data.valid:
        return f"validated on {pairs} of {' '.join(config.data.valid.files)}"
    return f"validated on {pairs} held out from it"


def length(plan: Plan, config: Config) -> str:
    if plan.epochs < 0.95:
        epochs = f"{100 * plan.epochs:.0f} % of the data"
    else:
        epochs = f"{plan.epochs:,.0f} epochs" if plan.epochs >= 1.5 else "one epoch"
    tokens = f"{plural(plan.updates, 'update')} of {config.training.batch_tokens:,} tokens, {epochs}"
    return f"about {tokens}, as many as fit" if plan.budget else tokens


def judgement(pairs: int) -> str:
    return next((text for limit, text in SIZES if pairs < limit), MOST)
