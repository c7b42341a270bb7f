"""Training runs: from a Config to the folder of a trained model."""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import torch

from dragoman.config.dump import to_toml
from dragoman.config.objective import AttentionTerms
from dragoman.config.paths import from_folder
from dragoman.config.root import Config
from dragoman.config.training import seconds
from dragoman.cores import threads
from dragoman.data.build import TrainingData, build_data, refuse_other_data
from dragoman.data.loader import Loader
from dragoman.data.prepare import Done
from dragoman.device import choose_device
from dragoman.durable import make_parents, recover, remove_folder, sweep, write_file
from dragoman.errors import CheckpointError
from dragoman.models.builders.network import new_model
from dragoman.tasks.collate import build_collate
from dragoman.tasks.examples import build_examples
from dragoman.training.build import build_objective, build_optimizer, build_schedule
from dragoman.training.events import Events, Listener, prepare_event, rewind, unsaved
from dragoman.training.init_from import initial_vocabulary, initial_weights, load_initial_weights
from dragoman.training.iob import unconstrained
from dragoman.training.length import from_json
from dragoman.training.loop import Loop
from dragoman.training.objectives.attention_losses import Aligner, GuidedAlignmentLoss
from dragoman.training.objectives.word_alignment import load_or_train_aligners
from dragoman.training.out_of_memory import DoesNotFit, halved, out_of_memory
from dragoman.training.pace import Clock, PaceWatch
from dragoman.training.parallel import Ranks, connect, disconnect
from dragoman.training.plan import Plan, Timing, make_plan, planned_length, time_updates
from dragoman.training.precision import choose, dtype_of
from dragoman.training.select_model import select_and_save
from dragoman.training.signals import FINISH, Interrupted, StopRequest, stop_on_signals
from dragoman.training.state import checkpoint
from dragoman.training.state.checkpoint import TrainingState
from dragoman.training.state.lock import locked
from dragoman.training.state.resume import (
    UnfinishedRun,
    facts,
    find,
    is_being_extended,
    length_of,
    lengthened,
    refuse_other_settings,
    refuse_request,
    resume,
)
from dragoman.training.step import Updater
from dragoman.training.validate import Validator
from dragoman.training.validation_outputs import NAME as VALIDATION_OUTPUTS

SMALLEST_NORMAL = torch.finfo(torch.float32).smallest_normal


@dataclass(frozen=True)
class RunResult:
    reason: str  # "done", "early", "asked" or "planned"
    step: int
    signal: int | None  # the signal that asked to stop
    seconds_left: float = field(default=math.inf, compare=False)  # of the budget, if there is one


@contextmanager
def use_threads(count: int) -> Iterator[None]:
    """Set the number of threads of torch, and restore it at the end: the caller may use torch, too."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def flush_denormals() -> Iterator[None]:
    """Treat numbers below 1.2e-38 as zero: computing with them takes a CPU many times as long, and training
    a recurrent network makes many. Threads that torch has started before are not affected."""
    before = float(torch.tensor(SMALLEST_NORMAL) / 2) == 0.0
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


@dataclass(frozen=True)
class Run:
    """A training run in a folder. `confirm` receives the plan before the first update and may decline it."""

    config: Config
    out: Path
    listeners: list[Listener]
    confirm: Callable[[Plan], bool]
    clock: Clock = field(default_factory=Clock)

    def train(self, *, force: bool = False, more: str | None = None, finish: bool = False) -> RunResult:
        """Train. `more` extends a finished run; `finish` saves a model of what was learned so far."""
        with flush_denormals(), use_threads(threads(self.config.training.threads)):
            ranks = connect(self.device, timeout=self.config.training.timeout, again=self._resume_command())
            try:
                return ranks.recorded(self._train_in_folder)(ranks, force, more, finish)
            finally:
                disconnect()

    def _train_in_folder(self, ranks: Ranks, force: bool, more: str | None, finish: bool) -> RunResult:
        with self._folder(ranks):
            begun = None if force else find(self.out / "checkpoints", ranks)
            if ranks.is_first and not force:
                refuse_request(self.out, begun, self.config.training, more, finish)
            return self._with_micro_batches(begun)._fitting(ranks, begun, force, more, finish)

    def _resume_command(self) -> str:
        """Return the command that resumes this run on as many ranks."""
        local, machines = (os.environ.get(name, "1") for name in ("LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE"))
        nodes = f" --nnodes {machines}" if machines != "1" else ""
        out = shlex.quote(str(self.out))
        return f"torchrun --nproc-per-node {local}{nodes} -m dragoman train -o {out}"

    @contextmanager
    def _folder(self, ranks: Ranks) -> Iterator[None]:
        """Lock the run's folder, and remove what killed processes left in it."""
        if not ranks.is_first:
            yield
            return
        make_parents(self.out / "model")
        with locked(self.out) as is_ours:
            if not is_ours:
                Events(None, self.listeners).emit({"event": "unlocked", "out": str(self.out)})
            if ranks.restart_in_same_store:
                Events(None, self.listeners).emit({"event": "shared_store"})
            for home in (self.out, self.out / "store", self.out / "checkpoints"):
                recover(home)
                sweep(home)
            try:
                yield
            finally:
                (self.out / FINISH).unlink(missing_ok=True)

    def _with_micro_batches(self, begun: UnfinishedRun | None) -> Run:
        """Return the run with the number of micro-batches it was started with, unless another one is set."""
        training = self.config.training
        if training.micro_batches is None:
            parts = begun.progress.run["settings"]["training.micro_batches"] if begun else 1
            training = training.model_copy(update={"micro_batches": parts})
        return replace(self, config=self.config.model_copy(update={"training": training}))

    def _fitting(
        self, ranks: Ranks, begun: UnfinishedRun | None, force: bool, more: str | None, finish: bool
    ) -> RunResult:
        """Train with micro-batches that fit into the memory of the device."""
        run = self
        while True:
            try:
                return run._train(ranks, begun, force, more, finish)
            except DoesNotFit:
                pass  # the exception refers to tensors, whose memory is free after this block
            except torch.OutOfMemoryError as error:
                raise out_of_memory(run.config.training) from error
            smaller = halved(run.config.training)
            if ranks.is_first:
                parts = smaller.micro_batches or 1
                Events(None, self.listeners).emit({"event": "out_of_memory", "micro_batches": parts})
            run = replace(run, config=run.config.model_copy(update={"training": smaller}))

    def _train(
        self, ranks: Ranks, begun: UnfinishedRun | None, force: bool, more: str | None, finish: bool
    ) -> RunResult:
        events = Events(None, self.listeners if ranks.is_first else [])
        events.emit({"event": "reading"})
        data = self.data(ranks, events, begun)
        events.emit({"event": "prepared", **data.facts()})
        if (answering := unconstrained(self.config, data)) is not None:
            events.emit({"event": "not_iob2"})
        stepper = self.stepper(data, ranks, begun)
        loader = self.loader(data, ranks)
        if begun:
            progress, notes = resume(begun, self.config, stepper, data.identity)
            self.clock.add(progress.seconds)
        pace = None
        if begun and more and not is_being_extended(progress, self.config.training):
            clock = ranks.from_first("the clock", self.clock)
            progress.length, progress.since_best = lengthened(progress, more, clock).to_json(), 0
        if not begun:
            events.emit({"event": "timing"})
            new = self._begin(data, stepper, loader)
            if new is None:
                return RunResult("planned", 0, None)
            (progress, pace), notes = new, []
        if ranks.is_first:
            if force:  # only now: if the plan is declined, the old run is unchanged
                self._forget()
            rewind(self.out / "events.jsonl", progress.step)
            events = Events(self.out / "events.jsonl", self.listeners)
            self._write_settings(events)
        try:
            with stop_on_signals(self.out / FINISH if ranks.is_first else None) as stop:
                loop = self._loop(
                    answering or self.config, data, stepper, loader, progress, events, stop, pace
                )
                loop.emit_start(progress, notes, data.pairs, self.out)
                reason = "finish" if finish else loop.run(progress)
                reason = ranks.from_first("the end", partial(self._end, data, loop, progress, stop, reason))
                left = loop.length.seconds_left(self.clock())
                return RunResult(reason, progress.step, stop.signal, left)
        finally:
            events.close()

    def _begin(
        self, data: TrainingData, stepper: Updater, loader: Loader
    ) -> tuple[TrainingState, float] | None:
        """Return a new run and the expected seconds per update, or None if the user declines the plan."""
        budget, ranks = self.config.training.budget, stepper.ranks
        try:
            timing = time_updates(stepper, loader, seconds(budget) if budget else None)
        except torch.OutOfMemoryError:
            raise DoesNotFit from None
        length = ranks.from_first("the plan", lambda: self._plan(data, stepper, timing))
        if length is None:
            return None
        known = facts(self.config, ranks, from_json(length).updates, data.identity)
        known["init_from"] = initial_weights(self.config.training)
        known["precision"] = self.precision(None)
        return TrainingState(run=known, length=length), timing.seconds_per_update

    def _plan(self, data: TrainingData, stepper: Updater, timing: Timing) -> dict[str, Any] | None:
        """Return the length of the run, or None if the user declines the plan."""
        length = planned_length(self.config.training, timing, data.pairs, self.clock())
        plan = make_plan(self.config.training, timing, length, pairs=data.pairs, stepper=stepper)
        with self.clock.stopped():
            return length.to_json() if self.confirm(plan) else None

    def _loop(
        self,
        answering: Config,
        data: TrainingData,
        stepper: Updater,
        loader: Loader,
        progress: TrainingState,
        events: Events,
        stop: StopRequest,
        pace: float | None,
    ) -> Loop:
        config, length = self.config.training, length_of(progress)
        return Loop(
            config=config,
            length=length,
            clock=self.clock,
            pace=PaceWatch(pace, torch.get_num_threads()),
            stepper=stepper,
            schedule=build_schedule(config, length.updates),
            loader=loader,
            validator=Validator(answering, data.text, data.valid, self.device),
            events=events,
            home=self.out / "checkpoints",
            stop_request=stop,
        )

    def _end(
        self, data: TrainingData, loop: Loop, progress: TrainingState, stop: StopRequest, reason: str
    ) -> str:
        """Finish or stop. A run that is stopped while finishing resumes and finishes to the same model."""
        try:
            if reason != "asked":
                with stop.at_once():
                    select_and_save(loop.validator.config, self.out, data, loop, progress, reason)
                return reason
        except Interrupted:
            pass
        except CheckpointError as error:
            raise self._resumable(error, loop.stepper.ranks) from error
        if loop.unsaved:
            raise self._resumable(loop.unsaved, loop.stepper.ranks)
        loop.events.emit({"event": "stopped", "step": progress.step, "reason": "asked"})
        return "asked"

    def _resumable(self, error: CheckpointError, ranks: Ranks) -> CheckpointError:
        folders = checkpoint.checkpoints_of(self.out / "checkpoints")
        place = f"from update {checkpoint.step_of(folders[-1]):,}" if folders else "from the start"
        command = (
            self._resume_command()
            if ranks.count > 1
            else shlex.join(["dragoman", "train", "-o", str(self.out)])
        )
        return CheckpointError(
            error.what,
            where=error.where,
            expected=error.expected,
            hint=f"Make room, then resume {place}: {command}",
        )

    def data(self, ranks: Ranks, events: Events, begun: UnfinishedRun | None = None) -> TrainingData:
        config, examples = self.config.data_of_run, build_examples(self.config)
        began = begun.data if begun else None

        def build() -> TrainingData:
            def progress(corpus: str, done: Done, total: int) -> None:
                events.emit(prepare_event(corpus, done, total))

            if began:
                refuse_other_data(config, self.out / "store", began, examples)
            if begun:
                refuse_other_settings(begun, self.config)
            return build_data(
                config,
                self.config.text,
                self.out / "store",
                examples=examples,
                progress=progress,
                began=began,
                vocabulary=initial_vocabulary(self.config.training, is_begun=begun is not None),
            )

        return ranks.in_turn("the preparation of the data", build)

    @cached_property
    def device(self) -> torch.device:
        return choose_device(self.config.training.device, "training.device")

    def precision(self, begun: UnfinishedRun | None) -> str:
        """Return the precision; what `auto` meant at the start of a run, it means to its end."""
        asked = self.config.training.precision
        if asked != "auto":
            return asked
        was = begun.progress.run.get("precision") if begun else None
        return was or choose(self.device, self.config.model)

    def stepper(self, data: TrainingData, ranks: Ranks, begun: UnfinishedRun | None = None) -> Updater:
        config = self.config.training
        model = new_model(self.config, data.text)
        if not begun:
            load_initial_weights(model, config)
        model.to(self.device)
        longest = min(self.config.search.max_length, self.config.model.longest_target)
        objective = build_objective(
            config.objective, data.text.tgt, longest, self.alignment_loss(data, ranks)
        )
        return Updater(
            model,
            build_optimizer(config, model),
            seed=config.seed,
            clip=config.clip,
            objective=objective,
            precision=dtype_of(self.precision(begun), self.device),
            ranks=ranks,
            clock=self.clock,
        )

    def alignment_loss(self, data: TrainingData, ranks: Ranks) -> GuidedAlignmentLoss | None:
        """Return the guided alignment loss, or None if word alignments do not guide the attention."""
        objective, src, tgt = self.config.training.objective, data.text.src.size, data.text.tgt.size
        if not isinstance(objective, AttentionTerms) or not objective.alignment:
            return None
        learn = partial(load_or_train_aligners, data.stores, src, tgt, self.out / "store" / "alignment")
        tables = ranks.in_turn("word alignments", learn)
        return GuidedAlignmentLoss(Aligner(tables.forward, tgt), Aligner(tables.backward, src))

    def loader(self, data: TrainingData, ranks: Ranks) -> Loader:
        config = self.config.training
        return Loader(
            data.stores,
            data.weights,
            batch_tokens=config.batch_tokens,
            micro_batches=(config.micro_batches or 1) * ranks.count,
            seed=config.seed,
            rank=ranks.rank,
            ranks=ranks.count,
            resegment=data.text if self.config.text.sampling else None,
            longest=self.config.longest_row,
            collate=build_collate(self.config),
        )

    def _write_settings(self, events: Events) -> None:
        file = self.out / "settings.toml"
        try:
            write_file(file, to_toml(from_folder(self.config, self.out)))
        except OSError as error:
            events.emit(unsaved(file, error))

    def _forget(self) -> None:
        for name in ("model", "checkpoints", "tensorboard", "wandb"):
            remove_folder(self.out / name)
        for name in ("events.jsonl", VALIDATION_OUTPUTS):
            (self.out / name).unlink(missing_ok=True)
