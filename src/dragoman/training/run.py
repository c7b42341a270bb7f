"""Config → a trained model folder: where all parts of training meet."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from dragoman.config.dump import to_toml
from dragoman.config.paths import from_folder
from dragoman.config.root import Config
from dragoman.data.build import TrainingData, build_data
from dragoman.data.loader import Loader
from dragoman.durable import verify_folder
from dragoman.errors import CheckpointError, UsageError
from dragoman.models.bundle import new_model, save_bundle
from dragoman.training import checkpoint
from dragoman.training.build import build_adam, build_schedule
from dragoman.training.card import model_card
from dragoman.training.checkpoint import Progress
from dragoman.training.events import Events, Listener, rewind
from dragoman.training.flat import FlatParameters
from dragoman.training.loop import Loop
from dragoman.training.memory import keep_freed_memory
from dragoman.training.parallel import Ranks, join, leave
from dragoman.training.plan import Plan, make_plan, time_updates
from dragoman.training.precision import resolve
from dragoman.training.signals import StopRequest, stop_on_signals
from dragoman.training.step import Stepper
from dragoman.training.validate import Validator

FORMAT = 1


@dataclass(frozen=True)
class Outcome:
    reason: str  # "done", "early", "asked" or "planned"
    step: int
    signal: int | None  # that asked to stop


@dataclass(frozen=True)
class Run:
    """A run in a folder. `confirm` sees the plan before the first update and may say no."""

    config: Config
    out: Path
    listeners: list[Listener]
    confirm: Callable[[Plan], bool]

    def train(self, *, force: bool = False) -> Outcome:
        keep_freed_memory()
        torch.set_num_threads(self.config.training.threads or os.cpu_count() or 1)
        ranks = join()
        try:
            with stop_on_signals() as asked:
                return self._train(ranks, asked, force)
        finally:
            leave()

    def _train(self, ranks: Ranks, asked: StopRequest, force: bool) -> Outcome:
        if ranks.is_first:
            self._refuse_finished(force)
            self.out.mkdir(parents=True, exist_ok=True)
        events = Events(None, self.listeners if ranks.is_first else [])
        data = self._data(ranks, events)
        stepper = self._stepper(data, ranks)
        loader = self._loader(data, ranks)
        progress = self._resume(stepper)
        if progress.step == 0 and not progress.run:
            timing = time_updates(stepper, loader)
            plan = make_plan(
                self.config.training,
                timing,
                parameters=len(stepper.flat),
                pairs=data.pairs,
                precision=str(stepper.flat.working.dtype).removeprefix("torch."),
            )
            if ranks.is_first and not self.confirm(plan):
                return Outcome("planned", 0, None)
            progress.run = self._facts(plan.updates)
        if ranks.is_first:
            rewind(self.out / "events.jsonl", progress.step)
            (self.out / "settings.toml").write_text(to_toml(from_folder(self.config, self.out)), encoding="utf-8")
        events = Events(
            self.out / "events.jsonl" if ranks.is_first else None, self.listeners if ranks.is_first else []
        )
        try:
            return self._loop(data, stepper, loader, progress, events, asked)
        finally:
            events.close()

    def _loop(
        self,
        data: TrainingData,
        stepper: Stepper,
        loader: Loader,
        progress: Progress,
        events: Events,
        asked: StopRequest,
    ) -> Outcome:
        config, updates = self.config.training, int(progress.run["updates"])
        every = config.checkpoint_every or max(1, updates // 20)
        loop = Loop(
            config=config,
            updates=updates,
            checkpoint_every=every,
            validate_every=config.validate_every or every,
            stepper=stepper,
            schedule=build_schedule(config, updates),
            loader=loader,
            validator=Validator(self.config, data.text, data.valid),
            events=events,
            home=self.out / "checkpoints",
            asked_to_stop=asked,
        )
        events.tell(
            "resume" if progress.step else "start",
            step=progress.step,
            updates=updates,
            parameters=len(stepper.flat),
            pairs=data.pairs,
            seconds=progress.seconds,
            out=str(self.out),
            run=progress.run,
        )
        reason = loop.run(progress)
        if reason != "asked" and stepper.ranks.is_first:
            self._finish(data, loop, progress, reason)
        elif stepper.ranks.is_first:
            events.tell("stopped", step=progress.step, reason=reason)
        return Outcome(reason, progress.step, asked.signal)

    def _finish(self, data: TrainingData, loop: Loop, progress: Progress, reason: str) -> None:
        """The mean of the last checkpoints, or the best one where that is better on the held-out pairs."""
        metric = self.config.training.valid_metric
        folders = [f for f in checkpoint.all_of(loop.home) if verify_folder(f) is None]
        best = [f for f in folders if f.name == f"step-{progress.best_step:08d}"]
        choices = {"average": checkpoint.average(folders[-self.config.training.average :])}
        if best:
            choices["best"] = checkpoint.weights_of(best[0])
        verdicts = {name: loop.validator(weights) for name, weights in choices.items()}
        chosen = max(verdicts, key=lambda name: verdicts[name].value(metric))
        facts = {
            "step": progress.step,
            "reason": reason,
            "seconds": progress.seconds,
            "chosen": chosen,
            "valid": {"loss": verdicts[chosen].loss, **verdicts[chosen].metrics},
            "sample": verdicts[chosen].sample,
        }
        save_bundle(
            self.out / "model",
            self.config,
            data.text,
            choices[chosen],
            model_card(self.config, facts, parameters=len(loop.stepper.flat), pairs=data.pairs),
        )
        loop.events.tell("finished", **facts, folder=str(self.out / "model"))

    def _data(self, ranks: Ranks, events: Events) -> TrainingData:
        """The first rank prepares; the others wait, then open what it made."""

        def build() -> TrainingData:
            def progress(corpus: str, pairs: int, size: int) -> None:
                events.tell("prepare", corpus=corpus, pairs=pairs, bytes=size)

            return build_data(
                self.config.data,
                self.config.text,
                self.out / "store",
                seed=self.config.training.seed,
                progress=progress,
            )

        if ranks.count == 1:
            return build()
        data = build() if ranks.is_first else None
        dist.barrier()
        return data or build()

    def _stepper(self, data: TrainingData, ranks: Ranks) -> Stepper:
        config = self.config.training
        model = new_model(self.config, data.text)
        flat = FlatParameters(model, resolve(config.precision))
        return Stepper(model, flat, build_adam(config, flat), ranks, config.seed, config.clip)

    def _loader(self, data: TrainingData, ranks: Ranks) -> Loader:
        config = self.config.training
        return Loader(
            data.stores,
            data.weights,
            batch_tokens=config.batch_tokens,
            micro_batches=config.micro_batches or ranks.count,
            seed=config.seed,
            rank=ranks.rank,
            ranks=ranks.count,
            resegment=data.text if self.config.text.sampling else None,
        )

    def _resume(self, stepper: Stepper) -> Progress:
        folder = checkpoint.newest(self.out / "checkpoints")
        if folder is None:
            return Progress()
        try:
            progress = checkpoint.load(folder, stepper.flat, stepper.adam)
        except (KeyError, RuntimeError, TypeError) as error:
            raise CheckpointError(
                f"The checkpoint does not fit these settings: {error}.",
                where=str(folder),
                expected="the settings that the run was started with",
                hint=f"Use {self.out / 'settings.toml'}, or start over with --force.",
            ) from None
        self._refuse_other_settings(progress, folder)
        return progress

    def _facts(self, updates: int) -> dict[str, Any]:
        """What decides every bit of a run besides the weights."""
        return {
            "format": FORMAT,
            "updates": updates,
            "threads": torch.get_num_threads(),
            "torch": torch.__version__,
            "training": {
                name: value
                for name, value in self.config.training.model_dump(mode="json").items()
                if name in ("batch_tokens", "micro_batches", "seed", "lr", "schedule", "warmup", "precision")
            },
        }

    def _refuse_other_settings(self, progress: Progress, folder: Path) -> None:
        now = self._facts(int(progress.run["updates"]))["training"]
        was = progress.run["training"]
        changed = [f"{name}: {was.get(name)!r} → {now[name]!r}" for name in now if was.get(name) != now[name]]
        if changed:
            raise UsageError(
                f"This unfinished run was started with other settings ({'; '.join(changed)}).",
                where=str(folder),
                expected="the same settings, so that it goes on as if it had never stopped",
                hint="Leave them out to go on, use another -o, or start over with --force.",
            )

    def _refuse_finished(self, force: bool) -> None:
        if force:
            for name in ("model", "checkpoints", "store"):
                shutil.rmtree(self.out / name, ignore_errors=True)
            (self.out / "events.jsonl").unlink(missing_ok=True)
        elif (self.out / "model").exists():
            raise UsageError(
                "This run is finished.",
                where=str(self.out / "model"),
                expected="a new folder, or an unfinished run to go on with",
                hint=f"dragoman run {self.out} uses it; --force trains it anew; -o OTHER trains beside it.",
            )
