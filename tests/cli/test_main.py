"""The command: its help, its speed, and how every failure reads."""

from __future__ import annotations

import argparse
import errno
import os
import pty
import subprocess
import sys
import types
from pathlib import Path

import pytest

from dragoman.cli import main as command
from dragoman.cli.main import EVERYONE, MODULES, VERBS, main
from dragoman.cli.options.overrides import split_overrides
from dragoman.errors import DataError

PYTHON = [sys.executable, "-m", "dragoman"]


def verb_that(monkeypatch: pytest.MonkeyPatch, action: BaseException | str) -> None:
    """A verb `boom` that raises, or prints."""

    def run(args: argparse.Namespace) -> int:
        if isinstance(action, BaseException):
            raise action
        print(action)
        return 0

    module = types.ModuleType("dragoman.cli.verbs.boom")
    module.__dict__.update(HELP="Boom.", add_arguments=lambda parser: None, run=run)
    monkeypatch.setitem(sys.modules, "dragoman.cli.verbs.boom", module)
    monkeypatch.setitem(VERBS, "boom", "raises")


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"], ["help"]])
def test_help_shows_the_verbs_for_everyone_and_names_the_others(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert all(f"  dragoman {verb} " in out for verb in EVERYONE)
    assert all(f"  {verb} " in out for verb in VERBS if verb not in EVERYONE)
    assert "dragoman info --settings" in out


def test_help_is_fast_and_imports_nothing_heavy() -> None:
    program = (
        "import sys, time; start = time.process_time()\n"
        "from dragoman.cli.main import main; main(['--help'])\n"
        "assert not {'torch', 'numpy', 'pydantic', 'rich'} & set(sys.modules), 'heavy'\n"
        "assert time.process_time() - start < 0.5, 'slow'\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "copy"),
    [
        (["prepare", "a.en", "a.de", "-o", "s3://bucket/run"], "aws s3 sync run s3://bucket/run"),
        (["train", "a.en", "a.de", "-o", "gs://bucket/run"], "gcloud storage cp -r run gs://bucket/run"),
        (["train", "s3://bucket/a.tsv"], "aws s3 sync s3://bucket/a.tsv a.tsv"),
        (["train", "a.tsv", "--valid", "https://host/v.tsv"], "curl -LO https://host/v.tsv"),
        (["score", "hf://me/model", "t.en", "t.de"], "hf download me/model --local-dir model"),
        (["run", "ftp://host/model", "a text"], "Copy it here first, then name model."),
        (["export", "model", "--to", "ct2", "-o", "s3://bucket/ct2"], "aws s3 sync ct2 s3://bucket/ct2"),
    ],
)
def test_an_address_is_never_made_into_a_folder(
    arguments: list[str],
    copy: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert "This is an address, not a path." in error
    assert copy in error
    assert not list(tmp_path.iterdir())


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("dragoman 0.")


def test_unknown_verb_is_told_the_near_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trian", "a.en"]) == 2
    err = capsys.readouterr().err
    assert 'There is no verb "trian". Did you mean "train"?' in err
    assert "dragoman train --help" in err


@pytest.mark.parametrize(("verb", "meant"), [("translate", "run"), ("eval", "score"), ("convert", "export")])
def test_the_verbs_of_other_programs_are_understood(
    verb: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([verb]) == 2
    assert f'Did you mean "{meant}"?' in capsys.readouterr().err


def test_a_misspelt_option_has_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "model", "--nbst", "3"]) == 2
    err = capsys.readouterr().err
    assert 'Unrecognized arguments: --nbst 3. Did you mean "--nbest"?' in err
    assert "[-h]" not in err, "a suggestion needs no wall of usage"


@pytest.mark.parametrize(
    ("command", "meant"),
    [
        ("train a.tsv -o x --preset rnn-small", "model.preset=…"),
        ("train a.tsv -o x --learning-rate=0.1", "training.lr=…"),
        ("train a.tsv -o x --epochs 3", "training.updates=…"),
        ("run model --beam 5", "search.size=…"),
    ],
)
def test_an_option_of_other_programs_is_a_setting_here(
    command: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command.split()) == 2
    assert f'Did you mean "{meant}"?' in capsys.readouterr().err


def test_only_settings_that_a_verb_takes_are_suggested(capsys: pytest.CaptureFixture[str]) -> None:
    for typed in ("export model --to ct2 --beam 5", "score model a.tsv --epochs 3"):
        assert main(typed.split()) == 2
        assert "=…" not in capsys.readouterr().err


@pytest.mark.parametrize(("time", "written"), [("10", "10s, 10m or 10h"), ("ten", "90s, 30m, 1h30m or 2d")])
def test_a_budget_without_a_unit_is_refused_by_its_option(
    time: str, written: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.tsv").write_text("a\tb\n")
    assert main(["train", str(tmp_path / "a.tsv"), "-o", str(tmp_path / "x"), "--budget", time]) == 2
    err = capsys.readouterr().err
    assert f'"{time}" is not a time; write {written}.' in err
    assert f"--budget {time}" in err


def test_help_with_a_verb_is_the_help_of_the_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "score"]) == 0
    assert "--against" in capsys.readouterr().out


def test_wrong_option_shows_the_usage_and_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "--nonsense"]) == 2
    captured = capsys.readouterr()
    assert "--nonsense" in captured.err
    assert "expected  dragoman new [NAME] [options]\n" in captured.err
    assert "dragoman new --help" in captured.err
    assert not captured.out


def test_help_of_a_verb_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "--help"]) == 0
    assert "NAME" in capsys.readouterr().out


def test_our_error_is_shown_as_words_with_its_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    verb_that(monkeypatch, DataError("Line 3 is empty.", where="a.en:3", hint="Remove it."))
    assert main(["boom"]) == 3
    captured = capsys.readouterr()
    assert captured.err == "error  Line 3 is empty.\n  where     a.en:3\n  fix       Remove it.\n"
    assert captured.out == ""


@pytest.mark.parametrize("arguments", [["--debug", "boom"], ["boom", "--debug"]])
def test_debug_anywhere_shows_the_traceback(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    verb_that(monkeypatch, DataError("Line 3 is empty."))
    assert main(arguments) == 3
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (
            ZeroDivisionError("division by zero\nmore"),
            "This is a bug in Dragoman: ZeroDivisionError: division by zero",
        ),
        (MemoryError(), "Out of memory."),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"), "Out of memory."),
        (OSError(errno.ENOSPC, "No space left on device", "run/x"), "where     run/x"),
        (PermissionError(errno.EACCES, "Permission denied", "run/x"), "Change its permissions"),
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "a.en"), "Check the spelling"),
        (OSError("odd"), "System error: odd."),
    ],
)
def test_other_failures_become_words_without_a_traceback(
    failure: Exception, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    verb_that(monkeypatch, failure)
    assert main(["boom"]) == 1
    err = capsys.readouterr().err
    assert words in err
    assert "fix" in err
    assert "Traceback" not in err


def test_interrupt_is_quiet(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    verb_that(monkeypatch, KeyboardInterrupt())
    assert main(["boom"]) == 130
    assert capsys.readouterr().err == ""


def test_closed_pipe_is_silent() -> None:
    script = f"{sys.executable} -m dragoman --help | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    assert done.stdout.strip() == "0"


def test_full_disk_is_reported_when_output_goes_there() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    with open("/dev/full", "w") as full:
        done = subprocess.run([*PYTHON, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 1
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("no_color", "coloured"), [("", True), ("1", False)])
def test_colour_only_on_a_terminal_that_wants_it(no_color: str, coloured: bool) -> None:
    ours, theirs = pty.openpty()
    env = {**os.environ, "NO_COLOR": no_color, "TERM": "xterm"}
    subprocess.run([*PYTHON, "nonsense"], stderr=theirs, env=env, timeout=60, check=False)
    os.close(theirs)
    shown = os.read(ours, 4096).decode()
    os.close(ours)
    assert ("\033[" in shown) is coloured


def test_results_are_utf8_whatever_the_locale() -> None:
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    done = subprocess.run([*PYTHON, "new"], capture_output=True, env=env, timeout=60, check=True)
    assert "→" in done.stdout.decode("utf-8")


def test_output_goes_through(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    verb_that(monkeypatch, "fine")
    assert main(["boom"]) == 0
    assert capsys.readouterr() == ("fine\n", "")


def test_overrides_are_told_from_files_and_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.b=c").touch()
    others, overrides = split_overrides(
        [
            "train.en",
            "training.lr=1e-3",
            "a.b=c",
            "x=y",
            "A.b=c",
            "model.encoder.layers=2",
            "A text. b=c",
            "a" * 5000,
        ]
    )
    assert overrides == ["training.lr=1e-3", "model.encoder.layers=2"]
    assert others == ["train.en", "a.b=c", "x=y", "A.b=c", "A text. b=c", "a" * 5000]


def test_every_verb_has_what_the_command_needs() -> None:
    for verb in VERBS:
        name = MODULES.get(verb, verb)
        if not (Path(command.__file__).parent / "verbs" / f"{name}.py").exists():
            pytest.fail(f"cli/verbs/{name}.py is missing")
