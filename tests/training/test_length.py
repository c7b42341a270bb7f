"""A run is as long as was asked for: in updates, or by the clock; it can be finished early and trained on."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file

from dragoman.config.load import load
from dragoman.config.training import TrainingConfig
from dragoman.data.recipes.reverse.generate import splits
from dragoman.errors import UsageError
from dragoman.training.build import build_schedule
from dragoman.training.length import END_VALIDATIONS, TimeBudget, UpdateCount, from_json
from dragoman.training.pace import SLOW_FACTOR, WINDOW, Clock, PaceWatch
from dragoman.training.plan import spread
from dragoman.training.run import Run, RunResult
from dragoman.training.signals import FINISH
from dragoman.training.state.checkpoint import checkpoints_of, read_state

Event = dict[str, Any]
PART = {"kind": "transformer", "layers": 1, "width": 16, "heads": 2, "ffn": 32}


class Task:
    """A small task in a folder, and runs of it."""

    def __init__(self, home: Path) -> None:
        self.home, self.out = home, home / "run"
        self.events: list[Event] = []
        self.times: list[float] = []

    def train(self, *, do: Callable[[Event], None] | None = None, **options: Any) -> RunResult:
        names = ("force", "more", "finish")
        how = {name: options.pop(name) for name in names if name in options}
        self.events, self.times = [], [time.perf_counter()]

        def listen(event: Event) -> None:
            self.events.append(event)
            self.times.append(time.perf_counter())
            if do:
                do(event)

        training = {"batch_tokens": 60, "threads": 1, "valid_decode": 4, "precision": "fp32", **options}
        config = load(
            None,
            run=self.out,
            base={
                "data": {
                    "train": [str(self.home / "train.tsv")],
                    "valid": {"files": [str(self.home / "valid.tsv")]},
                },
                "text": {"kind": "char"},
                "model": {"encoder": PART, "decoder": PART},
                "search": {"kind": "greedy", "max_length": 8},
                "training": training,
            },
        )
        return Run(config, self.out, [listen], lambda _: True).train(**how)

    @property
    def longest_pause(self) -> float:
        """Seconds that passed between two events at most, which no run can foresee on a busy machine."""
        return max(b - a for a, b in pairwise(self.times))

    def told(self, name: str) -> list[Event]:
        return [event for event in self.events if event["event"] == name]

    @property
    def weights(self) -> dict[str, bytes]:
        file = self.out / "model" / "weights.safetensors"
        return {name: value.tobytes() for name, value in load_file(file).items()}


@pytest.fixture
def task(tmp_path: Path) -> Task:
    for name, pairs in splits().items():
        text = "".join(f"{src}\t{tgt}\n" for src, tgt in pairs[: 300 if name == "train" else 10])
        (tmp_path / f"{name}.tsv").write_text(text, encoding="utf-8")
    return Task(tmp_path)


# ---- by the clock


@given(
    clock=st.floats(0, 1e4),
    until=st.floats(1, 1e6),
    each=st.floats(1e-3, 100),
    costs=st.lists(st.floats(0, 1e3), max_size=30),
)
def test_a_budget_always_ends_and_leaves_time_for_updates(
    clock: float, until: float, each: float, costs: list[float]
) -> None:
    length = TimeBudget.plan(clock, until, each)
    assert length.position(0, clock) == 0.0
    now = clock
    for cost in costs:
        if length.is_over(0, now):
            break
        now = max(now, length.next_milestone) + cost
        length.after_milestone(now, cost)
        assert length.start < length.end <= length.until
        assert length.next_milestone <= max(length.end, now)
    assert length.position(10**9, length.end) == length.updates
    assert length.is_over(0, length.until)
    assert from_json(json.loads(json.dumps(length.to_json()))) == length


def test_a_dear_validation_comes_rarely_and_the_end_is_kept_free_for_it() -> None:
    length = TimeBudget.plan(0.0, 1000.0, 1.0)
    length.after_milestone(60.0, 10.0)
    assert length.next_milestone == 160.0  # a tenth of the time, not a twentieth of the run
    assert length.end == 1000.0 - END_VALIDATIONS * 10.0
    length.after_milestone(760.0, 10.0)
    assert length.next_milestone == 860.0
    length.after_milestone(870.0, 10.0)
    assert length.next_milestone == length.end  # 970 would be too late, and the end is soon


def test_the_end_is_postponed_if_the_last_validation_took_less_than_the_first() -> None:
    length = TimeBudget.plan(0.0, 1000.0, 1.0)
    length.after_milestone(60.0, 100.0)
    assert length.next_milestone == length.end == 1000.0 - END_VALIDATIONS * 100.0
    length.after_last_validation(325.0, 25.0)
    end = 1000.0 - END_VALIDATIONS * 25.0
    assert length.end == end
    assert not length.is_over(0, 325.0)
    length.after_last_validation(end + 15.0, 20.0)  # twenty more seconds are not worth another validation
    assert length.end == end


def test_the_learning_rate_follows_the_clock() -> None:
    """Updates that take ten times what was planned do not end in the middle of the warm-up."""
    length = TimeBudget.plan(clock=0.0, until=100.0, seconds_per_update=0.09)
    assert length.updates == 1000
    schedule = build_schedule(TrainingConfig(lr=1.0, schedule="linear"), length.updates)
    rates = [schedule(length.position(step, step * 0.95)) for step in range(1, 101)]
    assert max(rates) == pytest.approx(1.0, abs=0.1)
    assert rates.index(max(rates)) in (9, 10)
    assert rates[-1] == pytest.approx(0.0, abs=0.02)


@pytest.mark.parametrize(("updates", "warmup"), [(5, 0), (200, 20), (3_999, 399), (90_000, 400)])
def test_warm_up_is_a_tenth_of_a_run_where_it_is_not_set(updates: int, warmup: int) -> None:
    assert TrainingConfig().warmup_of(updates) == warmup
    assert TrainingConfig(warmup=7).warmup_of(updates) == 7


@pytest.mark.parametrize("budget", [6, pytest.param(12, marks=pytest.mark.slow)])
def test_a_budget_is_kept_with_all_that_a_run_does(task: Task, budget: int) -> None:
    start = time.perf_counter()
    result = task.train(budget=f"{budget}s")
    taken = time.perf_counter() - start
    assert result.reason == "done"
    assert result.seconds_left == pytest.approx(budget - taken, abs=0.5)
    assert 0.75 * budget < taken < 1.1 * budget + task.longest_pause
    [finished] = task.told("finished")
    assert finished["seconds"] <= taken
    rates = [event["lr"] for event in task.told("step")]
    assert rates.index(max(rates)) < len(rates) / 2
    assert task.told("start")[0]["until"] == budget
    assert 2 <= len(task.told("valid")) <= 21


def test_a_budget_that_was_stopped_is_resumed_with_what_is_left_of_it(task: Task) -> None:
    def stop(event: Event) -> None:
        if event["event"] == "valid":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        task.train(budget="8s", do=stop)
    assert not checkpoints_of(task.out / "checkpoints")  # the first validation comes before the first save

    def ask(event: Event) -> None:
        if event["event"] == "checkpoint":
            (task.out / FINISH).touch()

    assert task.train(budget="8s", do=ask).reason == "finish"
    spent = read_state(checkpoints_of(task.out / "checkpoints")[-1]).seconds
    start = time.perf_counter()
    assert task.train(budget="8s").reason == "done"
    assert time.perf_counter() - start < 8.0 - spent + 0.8 + task.longest_pause
    assert task.told("resume")


@pytest.mark.slow
def test_another_budget_is_taken_by_a_run_that_has_one(task: Task) -> None:
    def ask(event: Event) -> None:
        if event["event"] == "checkpoint":
            (task.out / FINISH).touch()

    task.train(budget="60s", do=ask, checkpoint_every=5)
    start = time.perf_counter()
    assert task.train(budget="9s").reason == "done"
    assert time.perf_counter() - start < 9.9 + task.longest_pause
    assert "The budget was 60s and is now 9s." in task.told("resume")[0]["notes"]


# ---- finish now, train on


def test_a_run_that_is_asked_to_finish_gives_a_model_and_can_be_resumed(task: Task) -> None:
    def ask(event: Event) -> None:
        if event["event"] == "step" and event["step"] == 7:
            (task.out / FINISH).touch()

    usual = {"updates": 20, "valid_metric": "loss"}
    assert task.train(**usual, do=ask) == RunResult("finish", 8, None)
    assert task.told("finished")[0]["reason"] == "finish"
    assert not (task.out / FINISH).exists()
    early = task.weights
    assert task.train(**usual) == RunResult("done", 20, None)
    assert task.weights != early
    with pytest.raises(UsageError, match="This run is finished"):
        task.train(**usual)


def test_a_stopped_run_is_finished_without_another_update(task: Task) -> None:
    def stop(event: Event) -> None:
        if event["event"] == "step" and event["step"] == 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        task.train(updates=40, do=stop)
    assert task.train(updates=40, finish=True) == RunResult("finish", 10, None)
    assert task.weights


@pytest.mark.slow
def test_finishing_leaves_the_rest_of_the_run_as_it_would_have_been(task: Task, tmp_path: Path) -> None:
    def ask(event: Event) -> None:
        if event["event"] == "step" and event["step"] == 10:
            (task.out / FINISH).touch()

    task.train(updates=20, do=ask)
    task.train(updates=20)
    interrupted = task.weights
    task.out = tmp_path / "whole"
    task.train(updates=20)
    assert task.weights == interrupted


@pytest.mark.slow
def test_a_finished_run_is_trained_on_by_updates_and_by_time(task: Task) -> None:
    task.train(updates=20)
    assert task.train(updates=20, more="10") == RunResult("done", 30, None)
    rates = [event["lr"] for event in task.told("step")]
    assert len(rates) == 10
    assert rates[0] == pytest.approx(4e-3)  # a schedule of its own, from its start
    start = time.perf_counter()
    assert task.train(updates=20, more="3s").reason == "done"
    assert 1.5 < time.perf_counter() - start < 6.0


@pytest.mark.slow
def test_a_lengthened_run_that_was_stopped_is_resumed_to_the_same_weights(task: Task, tmp_path: Path) -> None:
    task.train(updates=20)
    task.train(updates=20, more="20")
    whole = task.weights
    task.out = tmp_path / "again"
    task.train(updates=20)

    def stop(event: Event) -> None:
        if event["event"] == "step" and event["step"] == 33:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        task.train(updates=20, more="20", do=stop)
    assert task.train(updates=20, more="20") == RunResult("done", 40, None)  # the same request resumes
    assert task.weights == whole
    assert task.train(updates=20, more="5") == RunResult("done", 45, None)


def test_a_budget_is_not_lengthened_by_a_share_of_what_was_trained_before() -> None:
    length = TimeBudget.plan(36_005.0, 36_600.0, 0.1, began=36_000.0)  # ten minutes more, after ten hours
    assert length.until == 36_600.0
    assert TimeBudget.plan(300.0, 310.0, 0.1).until == pytest.approx(300 / 0.9)  # a long preparation


@pytest.mark.parametrize(
    ("how", "what"),
    [
        ({"more": "1h"}, "There is no run here yet"),
        ({"finish": True}, "There is no run here yet"),
        ({"more": "soon"}, '"soon" is not a time; write 90s, 30m, 1h30m or 2d, or a number of updates'),
    ],
)
def test_what_cannot_be_trained_on_says_so(task: Task, how: dict[str, Any], what: str) -> None:
    with pytest.raises(UsageError, match=what):
        task.train(updates=20, **how)


def test_an_unfinished_run_is_resumed_and_not_lengthened(task: Task) -> None:
    def stop(event: Event) -> None:
        if event["event"] == "step" and event["step"] == 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        task.train(updates=40, do=stop)
    with pytest.raises(UsageError, match="This run is not finished") as caught:
        task.train(updates=40, more="1h")
    assert "resumes it" in caught.value.hint


# ---- the pace


def test_updates_that_take_several_times_what_was_planned_are_told_once() -> None:
    watch = PaceWatch(planned=0.1, threads=1)
    told = [watch(0.1 * SLOW_FACTOR * 1.1) for _ in range(3 * WINDOW)]
    said = [facts for facts in told if facts]
    assert told.index(said[0]) == WINDOW - 1
    assert len(said) == 1
    assert said[0]["seconds"] == pytest.approx(0.275)
    quiet = PaceWatch(planned=0.1, threads=1)
    assert not any(quiet(0.2) for _ in range(3 * WINDOW))


def test_a_process_that_others_keep_from_running_knows_it() -> None:
    watch = PaceWatch(planned=1e-6, threads=1)
    for _ in range(WINDOW - 1):
        watch(0.01)
    time.sleep(0.2)  # no processor time, as if others had it
    said = watch(0.01)
    assert said
    assert said["others"]
    assert said["had"] < 0.5
    busy = PaceWatch(planned=1e-6, threads=1)
    for _ in range(WINDOW - 1):
        busy(0.01)
    end = time.process_time() + 0.1
    while time.process_time() < end:
        pass
    assert busy(0.01)


def test_a_clock_stands_while_a_person_is_asked() -> None:
    clock = Clock()
    with clock.stopped():
        time.sleep(0.05)
    assert clock() < 0.04
    clock.add(100.0)
    assert 100.0 <= clock() < 100.05


def test_the_forecast_is_as_wide_as_the_timed_updates_differ() -> None:
    assert spread([1.0]) == 1.0
    assert spread([1.0, 1.0, 1.0]) == 0.0
    assert spread([0.5, 1.0, 1.5, 1.0]) == pytest.approx(2 * 0.408248 / 2)


def test_update_counts_are_told_in_words_of_json() -> None:
    length = UpdateCount(30, first=20)
    assert from_json(length.to_json()) == length
    assert [length.position(step, 0.0) for step in (20, 25, 30)] == [0.0, 5.0, 10.0]
    assert [step for step in range(21, 31) if length.is_due(step, 0.0)] == list(range(21, 31))


def test_finishing_a_run_of_another_process_waits_for_its_model(task: Task) -> None:
    """As two terminals would do it."""
    from dragoman.training.state.lock import InUse, wait_until_free

    started = threading.Event()

    def note(event: Event) -> None:
        if event["event"] == "step":
            started.set()

    other = Task(task.home)
    running = threading.Thread(target=lambda: other.train(updates=100_000, do=note))
    running.start()
    assert started.wait(60)
    with pytest.raises(InUse, match="is being trained by process") as caught:
        task.train(updates=100_000)
    assert "--finish" in caught.value.hint
    (task.out / FINISH).touch()
    wait_until_free(task.out)
    running.join(60)
    assert (task.out / "model").exists()
    assert other.told("finished")[0]["reason"] == "finish"
