"""`import dragoman as dg`: train, load, call, score."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import dragoman as dg
from dragoman.api import in_python
from dragoman.errors import ConfigError, DataError, ModelError, UsageError
from dragoman.inference.model import Model
from dragoman.inference.result import Result, Token
from dragoman.metrics.report import score as measure

WORDS = ("ab", "ba", "abc", "cab", "bca", "cb", "aab", "cca", "bab", "acb")
SMALL = {
    "text.kind": "char",
    "model.encoder.layers": 1,
    "model.encoder.width": 16,
    "model.encoder.ffn": 16,
    "model.decoder.layers": 1,
    "model.decoder.width": 16,
    "model.decoder.ffn": 16,
    "training.updates": 6,
    "training.batch_tokens": 64,
    "training.threads": 1,
    "training.average": 1,
    "training.report": False,
    "search.max_length": 8,
}


def python(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Words and their reversals."""
    folder = tmp_path_factory.mktemp("corpus")
    words = [f"{a}{b}" for a in WORDS for b in WORDS]
    src, tgt = folder / "words.src", folder / "words.tgt"
    src.write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
    tgt.write_text("".join(f"{word[::-1]}\n" for word in words), encoding="utf-8")
    return src, tgt


@pytest.fixture(scope="module")
def trained(corpus: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Model:
    return dg.train(*corpus, out=tmp_path_factory.mktemp("runs") / "words", settings=SMALL)


def test_import_is_light() -> None:
    done = python("import dragoman, sys; assert not {'torch', 'numpy', 'pydantic'} & set(sys.modules)")
    assert done.returncode == 0, done.stderr


def test_version_is_that_of_the_package() -> None:
    assert dg.__version__ == metadata.version("dragoman")


def test_what_does_not_exist_is_not_promised() -> None:
    assert dg.__all__ == ["calibrate", "compare", "load", "report", "resume", "score", "train"]
    with pytest.raises(AttributeError, match="explain"):
        _ = dg.explain  # type: ignore[attr-defined]


def test_without_torch_the_extra_is_named() -> None:
    done = python(
        "import sys; sys.modules['torch'] = None; import dragoman; dragoman.train('a', 'b', out='x')"
    )
    assert "MissingExtra" in done.stderr
    assert 'pip install "dragoman[train]"' in done.stderr


def test_training_gives_a_model_that_answers(trained: Model) -> None:
    assert isinstance(trained("abc").text, str)
    assert [result.text for result in trained(["abc", "", "cab"])][1] == ""


@pytest.mark.parametrize("progress", [True, False])
def test_training_shows_its_progress_unless_it_is_silenced(
    progress: bool, corpus: tuple[Path, Path], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    dg.train(*corpus, out=tmp_path / "run", settings=SMALL, progress=progress)
    out, err = capfd.readouterr()
    assert out == ""
    assert ("update" in err) is progress
    assert err == "" or progress


def test_loaded_model_answers_like_the_trained_one(trained: Model) -> None:
    again = dg.load(trained.folder)
    assert again(["abc", "cab"]) == trained(["abc", "cab"])


def test_run_folder_and_its_model_folder_are_the_same_model(trained: Model) -> None:
    run = trained.folder.parent if trained.folder.name == "model" else trained.folder
    assert dg.load(run)("abc") == dg.load(run / "model")("abc")


def test_score_takes_a_model_or_its_folder(trained: Model, corpus: tuple[Path, Path]) -> None:
    report = dg.score(trained, *corpus)
    assert report.sentences == 100
    assert set(report.scores) >= {"bleu", "chrf", "exact_match"}
    assert dg.score(trained.folder, *corpus) == report
    assert list(dg.score(trained, *corpus, metrics=["ter", "rouge_l"]).scores) == ["ter", "rouge_l"]
    assert list(dg.score(trained, *corpus, metrics="ter").scores) == ["ter"]
    with pytest.raises(UsageError, match='"google_gleu" or "napoles_gleu"'):
        dg.score(trained, *corpus, metrics=["gleu"])


def test_finished_run_is_refused_unless_forced(trained: Model, corpus: tuple[Path, Path]) -> None:
    run = trained.folder.parent
    before = trained("abc")
    with pytest.raises(UsageError, match="finished"):
        dg.train(*corpus, out=run, settings=SMALL)
    assert dg.train(*corpus, out=run, settings=SMALL, force=True)("abc") == before


def test_interrupted_training_is_saved_and_gone_on_with(
    trained: Model, corpus: tuple[Path, Path], tmp_path: Path
) -> None:
    def interrupt(event: dict[str, Any]) -> None:
        if event["event"] == "step" and event["step"] == 3:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt, match="the same call resumes it"):
        dg.train(*corpus, out=tmp_path / "run", settings=SMALL, listener=interrupt)
    events: list[dict[str, Any]] = []
    model = dg.train(*corpus, out=tmp_path / "run", settings=SMALL, listener=events.append)
    assert "resume" in [event["event"] for event in events]
    assert model(["abc", "cab"]) == trained(["abc", "cab"])


def test_a_listener_ends_the_run_with_a_model(corpus: tuple[Path, Path], tmp_path: Path) -> None:
    def enough(event: dict[str, Any]) -> str | None:
        return "stop" if event["event"] == "step" and event["step"] == 3 else None

    dg.train(*corpus, out=tmp_path / "run", settings=SMALL, listener=enough, progress=False)
    lines = (tmp_path / "run" / "events.jsonl").read_text(encoding="utf-8").splitlines()
    events = [json.loads(line) for line in lines]
    assert events[-1]["reason"] == "finish"
    assert 3 <= events[-1]["step"] < SMALL["training.updates"]
    assert dg.load(tmp_path / "run")("abc").text is not None


def test_a_hint_names_a_folder_with_spaces() -> None:
    folder = shlex.quote("out's tä")
    with pytest.raises(UsageError) as caught, in_python():
        raise UsageError("It is finished.", hint=f"dragoman run {folder} uses it; --force")
    assert caught.value.hint == 'dragoman.load("out\'s tä") uses it; force=True'


def test_lists_of_texts_take_the_place_of_files(
    trained: Model, corpus: tuple[Path, Path], tmp_path: Path
) -> None:
    sources, targets = (file.read_text(encoding="utf-8").split() for file in corpus)
    out = tmp_path / "run"

    def interrupt(event: dict[str, Any]) -> None:
        if event["event"] == "step" and event["step"] == 3:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        dg.train(sources, targets, out=out, settings=SMALL, listener=interrupt, progress=False)
    with pytest.raises(DataError, match="started with"):  # and replaces no file of the run
        dg.train(sources[1:], targets[1:], out=out, settings=SMALL, progress=False)
    model = dg.resume(out, progress=False)  # the lists are in the run's folder
    assert model(["abc", "cab"]) == trained(["abc", "cab"])
    assert dg.score(model, sources, targets) == dg.score(model, *corpus)


@pytest.mark.parametrize(
    ("lists", "match"),
    [
        (([("a", "b")],), "two lists of texts"),
        ((["a"], ["b", "c"]), "1 sources, 2 targets"),
        ((["a", "b"], ["c", "d\ne"]), r"texts\[1\].*\n.*without line breaks"),
        ((["a", None], ["c", "d"]), "None"),
        ((["a"], "b.txt"), "two lists of texts"),
    ],
)
def test_lists_that_are_no_corpus_are_explained(tmp_path: Path, lists: tuple[Any, ...], match: str) -> None:
    with pytest.raises(UsageError, match=match):
        dg.train(*lists, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_folder_with_settings_can_be_trained(corpus: tuple[Path, Path], tmp_path: Path) -> None:
    files = [str(file) for file in corpus]
    (tmp_path / "dragoman.toml").write_text(f"[data]\ntrain = {files}\n", encoding="utf-8")
    assert dg.train(tmp_path, settings=SMALL).folder == tmp_path / "model"


def test_out_is_asked_for(corpus: tuple[Path, Path]) -> None:
    with pytest.raises(UsageError, match="No output folder was given") as caught:
        dg.train(*corpus)
    assert 'out="my-model"' in caught.value.hint


def test_unknown_setting_is_told_the_near_one(corpus: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"Did you mean \"training\.updates"):
        dg.train(*corpus, out=tmp_path / "run", settings={"training.update": 3})


def test_budget_and_updates_exclude_each_other(corpus: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="either updates or budget"):
        dg.train(*corpus, out=tmp_path / "run", settings=SMALL, budget="10s")


def test_wrong_files_and_folders_have_their_errors(trained: Model, tmp_path: Path) -> None:
    with pytest.raises(ModelError):
        dg.load(tmp_path / "nothing")
    with pytest.raises(DataError):
        dg.score(trained, tmp_path / "nothing.tsv")
    with pytest.raises(ConfigError):
        dg.train(tmp_path)


def test_results_and_reports_can_be_read_and_taken_apart() -> None:
    token = Token("a", -0.1, None, 0.9, (0, 1), None)
    result = Result("<b> & c", -1.2345, False, (1,), ("low_confidence",), 0.5, (token,), ((0, 0),))
    assert repr(result) == "Result('<b> & c', score=-1.234, confidence=0.50, flags='low_confidence')"
    assert "&lt;b&gt; &amp; c" in result._repr_html_()
    fields = json.loads(json.dumps(result.asdict()))
    assert fields["tokens"][0]["piece"] == "a"
    assert "terms" not in fields
    report = measure(["a b c d e"], ["a b c d e"])
    assert repr(report).startswith("Report(bleu 100 [100, 100], chrf 100")
    assert "<td>chrf</td><td>100</td>" in report._repr_html_()
    assert json.loads(json.dumps(report.asdict()))["sentences"] == 1
