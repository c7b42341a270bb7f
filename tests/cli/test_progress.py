"""The words and pictures of a run: figures, forecasts, the table, the plain lines, the plan and the end."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from dragoman.cli import format as wording
from dragoman.cli.model_text import in_short
from dragoman.cli.training_view import plan as plan_text
from dragoman.cli.training_view import summary as ending
from dragoman.cli.training_view.dashboard import Dashboard, chosen, fitting
from dragoman.cli.training_view.live import LiveView
from dragoman.cli.training_view.log_lines import PlainView
from dragoman.cli.training_view.preparation import PreparationView, left_out
from dragoman.config.load import validate
from dragoman.config.root import Config
from dragoman.training.plan import Plan
from dragoman.training.progress import POINTS, DownsampledCurve, EtaEstimator, RunProgress

Event = dict[str, Any]


class Watch:
    """A clock that goes when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def begin(updates: int = 100, **facts: Any) -> Event:
    start = {
        "event": "start",
        "step": 0,
        "updates": updates,
        "parameters": 7_400_000,
        "seconds": 0.0,
        "first": 0,
        "until": None,
    }
    return {**start, "pairs": 29_000, "out": ".", **facts}


def step(number: int, loss: float = 3.0, **facts: Any) -> Event:
    event = {"event": "step", "step": number, "epoch": number / 10, "loss": loss, "nll": loss, "norm": 0.9}
    return {**event, "lr": 8.1e-4, "tokens": 4000, "seconds": 0.5, "applied": True, **facts}


def valid(number: int, chrf: float = 40.0, *, best: bool = True) -> Event:
    sample = {"src": "Ein Mann.", "out": "A man \x1b[31m.", "ref": "A man."}
    event = {"event": "valid", "step": number, "loss": 2.0, "chrf": chrf, "bleu": 20.0, "exact_match": 12.5}
    return {**event, "best": best, "sample": sample, "seconds": 3.0}


def config(**sections: Any) -> Config:
    return validate({"data": {"train": ["a.en", "a.de"]}, **sections})


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (45.4, "45 s"),
        (90, "90 s"),
        (91, "2 min"),
        (720, "12 min"),
        (3599, "1 h"),
        (6600, "1 h 50"),
        (3900, "1 h 05"),
        (2 * 86400 - 1, "2 d"),
        (183_600, "2 d 3 h"),
        (-1, "0 s"),
        (math.inf, "a long time"),
    ],
)
def test_duration_is_said_as_people_do(seconds: float, text: str) -> None:
    assert wording.duration(float(seconds)) == text


@pytest.mark.parametrize(("seconds", "text"), [(41, "0:41"), (725, "12:05"), (6600, "1:50:00"), (-3, "0:00")])
def test_clock_shows_hours_only_when_there_are_any(seconds: float, text: str) -> None:
    assert wording.clock(float(seconds)) == text


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_no_number_breaks_the_wording(value: float) -> None:
    for write in (wording.duration, wording.clock, wording.perplexity, wording.number):
        assert write(value)


def test_range_of_one_value_is_said_once() -> None:
    assert wording.span(10.0, 10.2) == "10 s"
    assert wording.span(60.0 * 80, 60.0 * 160) == "1 h 20 – 2 h 40"


def test_amounts_and_sizes_are_short() -> None:
    assert [wording.format_count(n) for n in (950, 41_000, 7_400_000, 999_600)] == [
        "950",
        "41 k",
        "7.4 M",
        "1.0 M",
    ]
    assert [wording.format_bytes(n) for n in (812_000, 3_100_000_000, 45_000_000)] == [
        "812 KB",
        "3.1 GB",
        "45 MB",
    ]


def test_perplexity_of_a_bad_start_stays_readable() -> None:
    assert [wording.perplexity(x) for x in (2.0, 6.0, 900.0)] == ["7.39", "403", "> 1 M"]


def test_sparkline_falls_as_the_values_do() -> None:
    assert wording.sparkline([7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0], 8) == "█▇▆▅▄▃▂▁"
    assert wording.sparkline([8.0, 8.0, 0.0, 0.0], 2) == "█▁"


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True, width=32)), st.integers(-2, 30))
def test_sparkline_never_exceeds_its_width(values: list[float], width: int) -> None:
    line = wording.sparkline(values, width)
    assert len(line) <= max(width, 0)
    assert set(line) <= set(wording.BLOCKS)


@given(st.integers(1, 3000))
def test_curve_is_bounded_and_keeps_its_ends(count: int) -> None:
    curve = DownsampledCurve()
    for value in range(count):
        curve.add(float(value))
    assert len(curve.points) <= POINTS
    assert curve.points == sorted(curve.points)
    assert curve.points[0] < count / 10 + 1


def test_time_left_counts_validating_and_saving() -> None:
    pace = EtaEstimator()
    for _ in range(101):
        pace.update(0.5, 1000)
    assert pace.left(90) == pytest.approx(90 * 0.5 * 10 / 9)  # no pause seen yet: the usual share
    pace.pause(101.0)
    assert pace.left(100) == pytest.approx(100 * 0.5 + 100)
    assert pace.tokens_per_second == pytest.approx(2000)


def test_time_left_follows_a_machine_that_becomes_slow() -> None:
    pace = EtaEstimator()
    assert pace.left(10) is None
    for seconds in [0.1] * 300 + [1.0] * 300:
        pace.update(seconds, 1)
    pace.pause(0.0)
    left = pace.left(10)
    assert left is not None
    assert 9.5 < left <= 10


def test_time_between_events_counts_even_if_no_event_claims_it() -> None:
    watch = Watch()
    progress = RunProgress(watch)
    progress(begin())
    for number in range(1, 11):
        watch.now += 2.0
        progress(step(number, seconds=0.1))
    assert progress.elapsed == 20.0
    assert progress.left == pytest.approx(90 * 2.0 * 10 / 9)


def test_resumed_run_recalls_its_table_and_time(tmp_path: Path) -> None:
    before = [begin(), *(step(n, 5.0) for n in range(1, 11)), valid(10), {"event": "checkpoint", "step": 10}]
    lines = "".join(json.dumps(event) + "\n" for event in before)
    (tmp_path / "events.jsonl").write_text(lines + '{"event": "st', encoding="utf-8")
    progress = RunProgress(Watch())
    progress(begin(event="resume", step=10, seconds=42.0, out=str(tmp_path)))
    assert (progress.step, progress.elapsed, progress.best_step) == (10, 42.0, 10)
    [row] = progress.validations
    assert (row.seconds, row.loss) == (8.0, 5.0)
    assert progress.left is None


def test_update_that_was_skipped_is_counted_and_bends_no_curve() -> None:
    progress = RunProgress()
    progress(begin())
    progress(step(1, 4.0))
    progress(step(2, math.nan, applied=False))
    assert (progress.skipped, progress.loss.value, progress.curve.points) == (1, 4.0, [4.0])


def test_best_row_stays_in_a_table_that_scrolls() -> None:
    progress = RunProgress()
    progress(begin())
    for number in range(1, 21):
        progress(valid(number, best=number == 3))
    assert [row.step for row in chosen(progress.validations, progress.best_step, 4)] == [3, 18, 19, 20]


def test_narrow_table_keeps_the_column_that_decides() -> None:
    names = ["time", "step", "loss", "dev ppl", "chrf", "bleu", "exact_match"]
    assert fitting(names, 100, "chrf") == names
    assert "exact_match" in fitting(names, 38, "exact_match")
    assert fitting(names, 30, "chrf") == ["step", "dev ppl", "chrf"]


def picture(width: int, height: int, events: list[Event]) -> list[str]:
    progress = RunProgress()
    for event in events:
        progress(event)
    out = io.StringIO()
    console = Console(file=out, width=width, height=height, color_system=None)
    console.print(Dashboard(progress, "gd-en", "transformer 3+3 × 256", "chrf"))
    return out.getvalue().split("\n")


def whole_run() -> Iterator[Event]:
    yield begin(100)
    for number in range(1, 81):
        yield step(number, 8 - number / 16)
        if number % 10 == 0:
            yield valid(number, chrf=number / 2)


@pytest.mark.parametrize("width", [1, 8, 20, 40, 60, 84, 100, 200])
@pytest.mark.parametrize("height", [1, 8, 24, 60])
def test_picture_fits_any_terminal(width: int, height: int) -> None:
    events = list(whole_run())
    for count in (0, 1, 2, 15, len(events)):
        lines = picture(width, height, events[:count])
        assert all(cell_len(line) <= max(width, 8) for line in lines)
        assert len(lines) <= max(height, 8)


def test_picture_shows_bar_table_curve_and_sample() -> None:
    text = "\n".join(picture(100, 30, list(whole_run())))
    for part in (
        "gd-en · transformer 3+3 × 256 · 7.4 M parameters",
        "80 %",
        "epoch 8.0",
        "tok/s",
        " left",
        "dev ppl",
        "chrF",
        "40.0",
        "12.5 %",
        "★",
        "█▇",
        "out",
        "ref",
        "Ctrl-C saves and stops",
    ):
        assert part in text
    assert text.count("★") == 1
    assert "\x1b[31m" not in text


def test_curve_uses_the_width_and_shows_late_progress() -> None:
    """By the logarithm: of 8, 1, ½ and ¼ the last three differ."""
    events = [begin(100), *({**step(n), "loss": 8.0 * 0.9**n} for n in range(60)), valid(60)]
    (line,) = [line for line in picture(130, 30, events) if "loss  " in line and "▁" in line]
    curve = [mark for mark in line if mark in wording.BLOCKS]
    assert len(curve) > 30
    assert len(set(curve[len(curve) // 2 :])) >= 4


def test_live_view_is_quiet_without_colour(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    with LiveView(Dashboard(RunProgress(), "m", "lstm 1+1 × 64", "chrf")) as view:
        for event in [{"event": "reading"}, {"event": "timing"}, *whole_run(), {"event": "finished"}]:
            view(event)
    captured = capsys.readouterr()
    assert not captured.out
    assert "\x1b[3" not in captured.err
    assert "80 %" in captured.err


def test_plain_view_writes_a_line_a_minute_and_one_for_what_happens(
    capsys: pytest.CaptureFixture[str],
) -> None:
    watch = Watch()
    view = PlainView(RunProgress(watch), watch)
    view(begin(1000))
    for number in range(1, 151):
        watch.now += 1.0
        view(step(number))
    view(valid(150))
    view({"event": "checkpoint", "step": 150})
    view(valid(151))
    captured = capsys.readouterr()
    lines = captured.err.rstrip("\n").split("\n")
    assert not captured.out
    assert [line.split()[:3] for line in lines] == [
        ["1:00", "update", "60"],
        ["2:00", "update", "120"],
        ["2:30", "valid", "150"],
        ["2:30", "saved", "150"],
        ["2:30", "valid", "150"],
    ]
    assert "loss 3.000  lr 8.10e-04  4,000 tok/s  17 min left" in lines[0]
    assert "dev ppl 7.39  chrF 40.0  BLEU 20.0  exact 12.5 %" in lines[2]
    assert "best so far" not in lines[2]  # there is none to be better than
    assert "dev ppl 7.39  chrF 40.0  BLEU 20.0  exact 12.5 %  best so far" in lines[4]


@pytest.mark.parametrize(
    ("scores", "is_shown"),
    [
        ({}, True),
        ({"bleu": 0.04, "exact_match": 0.0, "chrf": 9.1}, False),
        ({"bleu": 0.0, "exact_match": 1.0}, True),
        ({"bleu": 0.1, "exact_match": 0.0}, True),
    ],
)
def test_star_is_not_for_the_first_validation_nor_for_nonsense(
    scores: dict[str, float], is_shown: bool
) -> None:
    events = [begin(10), valid(1), {**valid(2), **scores}]
    assert "★" not in "\n".join(picture(100, 30, events[:2]))
    assert ("★" in "\n".join(picture(100, 30, events))) == is_shown


def test_plain_view_outlives_its_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(5, "Input/output error")

    monkeypatch.setattr("sys.stderr", Gone())
    PlainView(RunProgress()).say(["still training"])


def test_preparing_says_how_fast_it_goes() -> None:
    watch = Watch()
    preparing = PreparationView(watch)
    preparing({"event": "reading"})
    assert "vocabulary" in preparing.text
    event = {"event": "prepare", "corpus": "a.en a.de", "bytes": 1, "found": 2_000, "total": 40_000}
    preparing({**event, "pairs": 2_000})
    assert preparing.text == "Preparing a.en a.de   2,000 of 40,000 pairs"
    watch.now += 2.0
    preparing({**event, "pairs": 12_000})  # those that were found took no time
    assert preparing.text == "Preparing a.en a.de   12,000 of 40,000 pairs   5,000 pairs/s   6 s left"


PREPARED = {
    "pairs": 29_000,
    "tgt_tokens": 430_000,
    "vocabulary": [8000, 8000],
    "watched": 1014,
    "leaked": 0,
}
PREPARED |= {"counts": {"read": 29_005, "too_long": 5}, "bad": 2, "first_bad": "a.en:17"}
PREPARED |= {"passed": {"untranslated": 3, "fuzzy": 1}}


def plan(**facts: Any) -> Plan:
    known = {
        "parameters": 7_400_000,
        "pairs": 29_000,
        "updates": 12_000,
        "epochs": 58.0,
        "seconds_per_update": 0.5,
    }
    return Plan(
        **{
            **known,
            "tokens_per_second": 8000.0,
            "memory": 3_100_000_000,
            "precision": "bfloat16",
            "timed_updates": 12,
            "spread": 0.0,
            "budget": None,
            "warmup": 400,
            "ranks": 1,
            "threads": 2,
            "device": "cpu",
            "unused_gpu": False,
            **facts,
        }
    )


def test_plan_says_what_how_long_where_and_what_to_expect() -> None:
    text = "\n".join(plan_text.describe(plan(), config(), Path("en-de"), PREPARED))
    assert " for checkpoints and the model · " in text
    for part in (
        "12 updates timed on this machine in bfloat16 · 2 threads",
        "transformer, 3+3 layers × width 256, 4 heads",
        "7.4 M parameters · 8,000 bpe units for both sides",
        "29,000 pairs · 430 k target tokens",
        "validated on 1,014 pairs held out from it",
        "left out: 5 too long · 3 without a translation · 1 fuzzy · 2 bad lines skipped, the first a.en:17",
        "1 h 51 (1 h 40 – 2 h 24) · 8,000 tokens/s",
        "12,000 updates of 4,096 tokens, 58 epochs",
        "3.1 GB",
        "  export  ct2\n",
        "en-de/model",
        "29,000 pairs are enough for a regular task; for translation, expect good results on similar texts",
    ):
        assert part in text


def test_plan_says_what_it_runs_on() -> None:
    facts = {"ranks": 4, "threads": 1, "unused_gpu": True, "memory": 0}
    text = "\n".join(plan_text.describe(plan(**facts), config(), Path("en-de"), PREPARED))
    assert "12 updates timed on this machine in bfloat16 · 4 ranks of 1 thread" in text
    assert "No GPU is used" in text
    assert "memory" not in text
    assert "GPU" not in "\n".join(plan_text.describe(plan(), config(), Path("en-de"), PREPARED))


def test_plan_of_a_budget_says_how_many_updates_fit() -> None:
    described = plan_text.describe(plan(epochs=0.4, budget=1800.0), config(), Path("m"), PREPARED)
    text = "\n".join(described)
    assert "time    30 min · 8,000 tokens/s" in text
    assert "about 12,000 updates of 4,096 tokens, 40 % of the data, as many as fit" in text


def test_plan_says_when_the_learning_rate_hardly_arrives() -> None:
    for warmup, rise in ((60, "rises most of the time"), (100, "would rise to the end"), (250, "to the end")):
        rising = plan(updates=100, warmup=warmup)
        text = "\n".join(plan_text.describe(rising, config(), Path("m"), PREPARED))
        assert f"{rise}: training.warmup=10 leaves more time" in text
    text = "\n".join(plan_text.describe(plan(), config(), Path("m"), PREPARED))
    assert "rises" not in text


def test_a_forecast_is_wider_where_timed_updates_differ() -> None:
    low, high = plan(spread=0.0).range
    wide = plan(spread=0.5).range
    assert (wide[0], wide[1]) == (low / 2, pytest.approx(high * 1.5))


def test_plan_names_recurrent_models_and_separate_vocabularies() -> None:
    rnn = config(
        model={"preset": "rnn-small", "tied": "target"},
        text={"joint": False, "kind": "char"},
        data={"train": "a.tsv", "valid": "v.tsv"},
    )
    whole = {**PREPARED, "bad": 0, "counts": {}, "passed": {}}
    text = "\n".join(plan_text.describe(plan(), rnn, Path("m"), whole))
    assert "lstm, 1 layer × width 256, bidirectional → lstm, 1 layer × width 512, multiplicative" in text
    assert "8,000 char source units, 8,000 char target units" in text
    assert "validated on 1,014 pairs of v.tsv" in text
    assert "left out" not in text
    assert "  export  onnx; not to ct2: lstm encoder (ct2 runs only Transformers; use ONNX) · lst" in text
    assert in_short(rnn.model) == "lstm 1+1 × 256/512"
    assert in_short(config().model) == "transformer 3+3 × 256"
    assert in_short(config(model={"preset": "convs2s2017"}).model) == "conv 15+15 × 2048"


def test_every_size_of_data_is_judged() -> None:
    judged = [plan_text.judgement(10**power) for power in range(1, 10)]
    assert len(set(judged)) == 6
    assert all(text.startswith("are ") and text.endswith(".") for text in judged)


def test_nothing_lost_is_nothing_said() -> None:
    assert left_out({"counts": {"too_long": 0}, "bad": 0, "first_bad": "", "passed": {}}) == []
    counts = {"skipped": 1_133, "empty": 2}
    assert left_out({"counts": counts, "bad": 0, "first_bad": "", "passed": {}}) == [
        "1,133 held out, or with a side of a held-out pair",
        "2 with an empty side",
    ]


def finished(tmp_path: Path, **facts: Any) -> Event:
    (tmp_path / "model").mkdir(exist_ok=True)
    (tmp_path / "model" / "weights").write_bytes(b"0" * 2_000_000)
    event = {
        "event": "finished",
        "step": 3000,
        "reason": "done",
        "seconds": 1.0,
        "chosen": "average",
        "averaged": 3,
    }
    scores = {"loss": 2.0, "chrf": 46.8, "bleu": 24.3, "exact_match": 12.5}
    return {
        **event,
        "valid": scores,
        "sample": {"src": "It's a man."},
        "folder": str(tmp_path / "model"),
        **facts,
    }


def test_end_says_scores_weights_folder_and_what_to_type(tmp_path: Path) -> None:
    tested = config(data={"train": ["a.en", "a.de"], "test": ["out/../my test.en", "t.de"]})
    text = "\n".join(ending.finished(finished(tmp_path), 5820.0, 6600.0, tested, tmp_path))
    assert text.startswith("Finished: 3,000 updates in 1 h 37 (planned 1 h 50).\n")
    assert "chrF 46.8   BLEU 24.3   exact 12.5 %   ppl 7.39" in text
    assert "the mean of the last 3 checkpoints" in text
    assert "2.0 MB" in text
    assert f"Next: dragoman score {tmp_path} 'my test.en' t.de" in text
    assert f"""dragoman run {tmp_path} 'It'"'"'s a man.'""" in text


def test_weights_that_tie_with_the_best_are_called_as_good(tmp_path: Path) -> None:
    for ties, said in ((True, "the last checkpoint, as good as the best"), (False, "the last checkpoint")):
        event = finished(tmp_path, chosen="last", ties=ties)
        assert f"  chosen  {said}" in list(ending.finished(event, 60.0, None, config(), tmp_path))


def test_end_of_a_run_that_got_no_better_says_so(tmp_path: Path) -> None:
    patient = config(training={"patience": 6})
    event = finished(tmp_path, reason="early", chosen="best", sample={"src": "x" * 200})
    text = "\n".join(ending.finished(event, 60.0, None, patient, tmp_path))
    assert text.startswith("Stopped at update 3,000, no improvement for 6 validations: 60 s.\n")
    assert "the best checkpoint, by chrF" in text
    assert "TEST.en TEST.de" in text
    assert "'some text'" in text


def test_what_to_type_suits_what_the_model_reads(tmp_path: Path) -> None:
    text = config(task="lm", data={"train": "a.txt", "valid": "v.txt"})
    said = "\n".join(ending.finished(finished(tmp_path, sample={}), 60.0, None, text, tmp_path))
    assert f"Next: dragoman score {tmp_path} TEST.txt" in said
    assert f"dragoman run {tmp_path} --continue 'some text'" in said
    sounds = config(task="transcribe", data={"train": "a.tsv", "source": {"kind": "sound"}})
    for source, shown in (("valid/0.wav", "valid/0.wav"), ("x" * 200, "FILE.wav")):
        event = finished(tmp_path, sample={"src": source})
        said = "\n".join(ending.finished(event, 60.0, None, sounds, tmp_path))
        assert said.endswith(f"dragoman run {tmp_path} {shown}")


def test_plan_says_when_the_disk_is_too_small() -> None:
    assert plan_text.disk(2_500_000, 12_000_000_000) == "2.5 MB for checkpoints and the model · 12 GB free"
    assert plan_text.disk(2_500_000, 1_000_000).endswith("1.0 MB free, which is too little")
