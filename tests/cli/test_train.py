"""`dragoman train` as a person meets it: real commands on the smallest task, in a pipe and on a terminal."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from dragoman.cli.main import main
from dragoman.cli.terminal import typed
from dragoman.data.recipes.build import make_recipe

COMMAND = [sys.executable, "-m", "dragoman", "train"]
OFTEN = [
    *("training.threads=1", "training.validate_every=10", "training.checkpoint_every=10"),
    "training.report=false",
]
SHORT = ["training.updates=30", *OFTEN]
ENDLESS = ["training.updates=100000", *OFTEN]  # it is stopped before its end, on any machine
PATIENCE = 300.0  # seconds, for a machine that is busy


class Said(NamedTuple):
    code: int
    out: str
    err: str


class Finished(NamedTuple):
    folder: Path
    said: Said


Train = Callable[..., Said]


@pytest.fixture(scope="module")
def reverse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tasks") / "reverse"
    make_recipe("reverse", folder, force=False)
    for file in folder.glob("*.tsv"):
        lines = file.read_text(encoding="utf-8").rstrip("\n").split("\n")
        file.write_text("\n".join(lines[:500]) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def finished(reverse: Path, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """A run of a few updates that has ended."""
    out = tmp_path_factory.mktemp("runs") / "a run"
    command = [*COMMAND, str(reverse), "-o", str(out), "--json", "--tensorboard", *SHORT]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
    return Finished(out, Said(done.returncode, done.stdout, done.stderr))


@pytest.fixture
def train(capsys: pytest.CaptureFixture[str]) -> Train:
    """The command, in this process: its imports are paid for once."""

    def run(*arguments: str) -> Said:
        code = main(["train", *arguments])
        said = Said(code, *capsys.readouterr())
        assert "bug in Dragoman" not in said.err
        return said

    return run


def stopped(arguments: list[str], number: int, out: Path, after: int = 0) -> Said:
    """Start a run, and send it a signal once it has saved a step after this one."""
    process = subprocess.Popen(
        [*COMMAND, *arguments], stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
    )
    end = time.monotonic() + PATIENCE
    while not any(int(folder.name[5:]) > after for folder in (out / "checkpoints").glob("step-*")):
        assert time.monotonic() < end, "no checkpoint came"
        assert process.poll() is None, "it ended before its first checkpoint"
        time.sleep(0.05)
    process.send_signal(number)
    _, err = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in err
    return Said(process.returncode, "", err)


def test_finished_run_tells_its_story_on_stderr(finished: Finished) -> None:
    assert finished.said.code == 0, finished.said.err
    for part in (
        "updates timed on this machine",
        "1+1 layers × width 64",
        "500 pairs are very few",
        "valid   10 of 30",
        "saved   30",
        "Finished: 30 updates in",
        "(planned",
        f"Next: dragoman score '{finished.folder}'",
        "test.tsv\n",
        f"dragoman run '{finished.folder}'",
    ):
        assert part in finished.said.err
    assert "Traceback" not in finished.said.err
    assert "\x1b" not in finished.said.err
    assert (finished.folder / "model" / "weights.safetensors").is_file()


def test_json_writes_every_event_to_stdout_and_nothing_else(finished: Finished) -> None:
    events = [json.loads(line) for line in finished.said.out.split("\n") if line]
    kinds = [event["event"] for event in events]
    assert kinds[:2] == ["reading", "prepare"]
    assert kinds[-1] == "finished"
    assert kinds.count("step") == 30
    [plan] = [event for event in events if event["event"] == "plan"]
    assert plan["updates"] == 30
    assert plan["range"][0] <= plan["seconds"] <= plan["range"][1]


@pytest.mark.filterwarnings("ignore")  # of tensorboard's own imports
def test_tensorboard_gets_the_scalars(finished: Finished) -> None:
    reading = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    board = reading.EventAccumulator(str(finished.folder / "tensorboard"))
    board.Reload()
    tags = {"train/loss", "train/lr", "train/norm", "train/tokens_per_second", "valid/loss", "valid/chrf"}
    assert tags <= set(board.Tags()["scalars"])
    assert [point.step for point in board.Scalars("train/loss")] == list(range(1, 31))


def test_finished_run_is_refused_and_kept(reverse: Path, finished: Finished, train: Train) -> None:
    out = str(finished.folder)
    for arguments in ([str(reverse), "-o", out], ["-o", out], [out]):
        said = train(*arguments)
        assert said.code == 2
        assert "This run is finished." in said.err
        assert "--force" in said.err
    assert (finished.folder / "model" / "weights.safetensors").is_file()


def test_force_forgets_the_old_run_only_when_the_new_one_starts(
    finished: Finished, tmp_path: Path, train: Train
) -> None:
    out = tmp_path / "copy"
    shutil.copytree(finished.folder, out)
    said = train("-o", str(out), "--force", "--plan")
    assert (said.code, said.out) == (0, "")
    assert "Plan" in said.err
    assert f"Nothing is trained yet.\nNext: dragoman train -o {out}\n" in said.err
    assert (out / "model" / "weights.safetensors").is_file()
    assert train("-o", str(out), "--force").code == 0
    assert (out / "events.jsonl").read_text(encoding="utf-8").count('"event": "start"') == 1


def test_stopped_run_says_how_to_go_on_and_does_so_from_its_folder_alone(
    reverse: Path, tmp_path: Path, train: Train
) -> None:
    out = tmp_path / "it's here"
    said = stopped([str(reverse), "-o", str(out), "--force", *ENDLESS], signal.SIGTERM, out)
    assert said.code == 128 + signal.SIGTERM
    quoted = f"""'{tmp_path}/it'"'"'s here'"""
    assert f"To resume:  dragoman train {reverse} -o {quoted} {' '.join(ENDLESS)}\n" in said.err
    step = int(said.err.partition("Saved at update ")[2].partition(".")[0].replace(",", ""))

    plan = train("-o", str(out), "--plan")
    assert plan.code == 0
    assert f"An unfinished run is at update {step:,} of 100,000" in plan.err

    said = stopped(["-o", str(out)], signal.SIGINT, out, after=step)
    assert said.code == 128 + signal.SIGINT
    assert f"Resuming an unfinished run at update {step:,} of 100,000." in said.err
    assert f"To resume:  dragoman train -o {quoted}\n" in said.err


def test_bad_lines_are_refused_or_skipped_and_counted(reverse: Path, tmp_path: Path, train: Train) -> None:
    bad = tmp_path / "bad.tsv"
    bad.write_bytes((reverse / "train.tsv").read_bytes() + b"no tab here\n\xff\xff\tx\n")
    arguments = [str(bad), "-c", str(reverse / "dragoman.toml"), "--plan", "training.threads=1"]
    refused = train(*arguments, "-o", str(tmp_path / "a"))
    assert refused.code == 3
    assert "bad.tsv:501" in refused.err
    said = train(*arguments, "-o", str(tmp_path / "b"), "--skip-bad")
    assert said.code == 0
    assert "500 pairs" in said.err
    assert f"2 bad lines skipped, the first {bad}:501" in said.err


def test_options_and_trailing_settings_reach_the_run(reverse: Path, tmp_path: Path, train: Train) -> None:
    out, toml = tmp_path / "out", str(reverse / "dragoman.toml")
    train_file, valid, test = (str(reverse / f"{name}.tsv") for name in ("train", "test", "valid"))  # swapped
    said = train(train_file, "-o", str(out), "-c", toml, "--test", test, "--valid", valid, *SHORT)
    assert said.code == 0
    assert f" pairs of {valid}\n" in said.err
    assert f"Next: dragoman score {out} {test}\n" in said.err
    assert "updates = 30" in (out / "settings.toml").read_text(encoding="utf-8")


def test_budget_wins_over_the_updates_of_a_settings_file(reverse: Path, tmp_path: Path, train: Train) -> None:
    said = train(str(reverse), "-o", str(tmp_path / "out"), "--budget", "7s", "--plan", "training.threads=1")
    assert said.code == 0
    assert "  time    7 s · " in said.err
    assert "as many as fit" in said.err


USAGE = {
    "nothing": ([], "No training data were given.", 2),
    "no run": (["-o", "nowhere"], "nowhere contains no run to resume", 2),
    "no folder": (["{reverse}/train.tsv"], "No output folder was given.", 2),
    "three files": (
        ["{reverse}/train.tsv", __file__, __file__, "-o", "x"],
        "These files do not form one corpus.",
        2,
    ),
    "file and folder": (
        ["{reverse}/train.tsv", "{reverse}", "-o", "x"],
        "These files do not form one corpus.",
        2,
    ),
    "settings": (
        ["{reverse}/train.tsv", "{reverse}/dragoman.toml", "-o", "x"],
        "is a settings file, not data.",
        2,
    ),
    "empty folder": (["{empty}"], "This folder has no dragoman.toml.", 2),
    "all valid": (["-o", "x", "--valid", *["{reverse}/valid.tsv"] * 3], "--valid takes one or two files", 2),
    "no valid": (["{reverse}", "--valid", "training.updates=3"], "takes one or two files, but got 0", 2),
    "missing test": (["{reverse}", "--test", "nothing.tsv"], "There is no such file: nothing.tsv", 3),
    "misspelt file": (["{reverse}/trian.tsv", "-o", "x"], '{reverse}/train.tsv"?', 3),
    "misspelt setting": (["{reverse}", "training.updats=3"], 'Did you mean "training.updates"?', 2),
    "bare setting": (["{reverse}", "updates=3"], 'Did you mean "training.updates"?', 2),
    "recipe": (["dates"], "dragoman new dates", 2),
    "bad budget": (["{reverse}", "--budget", "soon"], "soon", 2),
    "two lengths": (["{reverse}", "--budget", "1m", "training.updates=3"], "either updates or budget", 2),
}


@pytest.mark.parametrize("case", USAGE)
def test_wrong_command_is_told_what_is_wrong(
    case: str, reverse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, train: Train
) -> None:
    arguments, text, code = USAGE[case]
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    places = {"reverse": str(reverse), "empty": str(tmp_path / "empty")}
    said = train(*(argument.format(**places) for argument in arguments))
    assert (said.code, said.out) == (code, "")
    assert text.format(**places) in said.err
    assert "  fix " in said.err
    assert os.listdir(tmp_path) == ["empty"]


def test_several_files_with_both_sides_are_as_many_corpora(
    reverse: Path, tmp_path: Path, train: Train
) -> None:
    two = [str(reverse / "train.tsv"), str(reverse / "valid.tsv")]
    said = train(*two, "-o", str(tmp_path / "out"), "--plan", *SHORT)
    assert said.code == 0, said.err
    assert (tmp_path / "out" / "store" / "corpus-1").is_dir()


def test_catalogues_of_two_languages_are_not_mixed(tmp_path: Path, train: Train) -> None:
    for name in ("de", "fr"):
        header = f'msgid ""\nmsgstr ""\n"Language: {name}\\n"\n'
        (tmp_path / f"{name}.po").write_text(f'{header}\nmsgid "a"\nmsgstr "b"\n', encoding="utf-8")
    said = train(*(str(tmp_path / f"{name}.po") for name in ("de", "fr")), "-o", str(tmp_path / "out"))
    assert said.code == 3
    assert "These files are in different languages: de and fr." in said.err


def test_in_the_folder_of_a_task_the_folder_is_proposed(
    reverse: Path, monkeypatch: pytest.MonkeyPatch, train: Train
) -> None:
    monkeypatch.chdir(reverse)
    said = train()
    assert said.code == 2
    assert "fix       dragoman train .\n" in said.err


def test_missing_tensorboard_is_named_with_what_to_install(
    reverse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, train: Train
) -> None:
    monkeypatch.delitem(sys.modules, "dragoman.training.trackers.tensorboard", raising=False)
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    said = train(str(reverse), "-o", str(tmp_path / "out"), "--tensorboard")
    assert said.code == 2
    assert 'pip install "dragoman[tensorboard]"' in said.err


def test_command_is_repeated_as_a_shell_takes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["dragoman", "--debug", "train", "a b.tsv", "--force", "-o", "x"])
    assert typed("train", ("--force",)) == "dragoman --debug train 'a b.tsv' -o x"
    monkeypatch.setattr(sys, "argv", ["pytest", "tests"])
    assert typed("train") == ""


class Terminal:
    """A command on a terminal of its own, and all that it wrote there."""

    def __init__(self, command: list[str]) -> None:
        self.text = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="xterm", COLUMNS="90", LINES="30", NO_COLOR="1")
            os.execv(command[0], command)

    def read_until(self, text: str) -> None:
        end = time.monotonic() + PATIENCE
        while text not in self.text:
            assert time.monotonic() < end, f"no {text!r} in {self.text!r}"
            if select.select([self.fd], [], [], 0.2)[0]:
                part = self.read()
                assert part, f"it ended without {text!r}: {self.text!r}"
                self.text += part

    def press(self, keys: bytes) -> None:
        os.write(self.fd, keys)

    def end(self) -> int:
        while part := self.read():
            self.text += part
        os.close(self.fd)
        assert "Traceback" not in self.text
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def read(self) -> str:
        try:
            return os.read(self.fd, 65536).decode(errors="replace")
        except OSError:  # how Linux says that the other side is closed
            return ""


COUNTDOWN = "from dragoman.cli.terminal import *; print(can_answer(), countdown({}))"


@pytest.mark.parametrize(
    ("seconds", "keys", "answer"),
    [
        (60, b"q", "True False"),
        (60, b"x\n", "True True"),
        (1, b"x", "True True"),
        (60, b"\x1b", "True False"),
    ],
)
def test_countdown_is_cut_short_by_enter_and_stopped_by_q(seconds: int, keys: bytes, answer: str) -> None:
    terminal = Terminal([sys.executable, "-c", COUNTDOWN.format(seconds)])
    terminal.read_until("Enter = now · q = stop")
    terminal.press(keys)
    assert terminal.end() == 0
    assert answer in terminal.text


def test_enter_starts_and_the_picture_lives_until_ctrl_c(reverse: Path, tmp_path: Path) -> None:
    terminal = Terminal([*COMMAND, str(reverse), "-o", str(tmp_path / "out"), *ENDLESS])
    terminal.read_until("Enter = now · q = stop")
    assert "updates timed on this machine" in terminal.text
    terminal.press(b"\n")
    terminal.read_until("dev ppl")
    terminal.press(b"\x03")
    assert terminal.end() == 130
    for part in ("transformer 1+1 × 64", "tok/s", "dev ppl", "Ctrl-C saves and stops", "src", "out", "ref"):
        assert part in terminal.text
    assert "Saved at update" in terminal.text
    assert "To resume:\r\n  dragoman train" in terminal.text
    hidden, shown = terminal.text.rfind("\x1b[?25l"), terminal.text.rfind("\x1b[?25h")
    assert shown > hidden  # the cursor is back


def test_closing_the_terminal_saves(reverse: Path, tmp_path: Path) -> None:
    out, rare = (
        tmp_path / "out",
        ["training.updates=100000", "training.threads=1", "training.validate_every=10"],
    )
    terminal = Terminal([*COMMAND, str(reverse), "-o", str(out), "--yes", *rare])
    terminal.read_until("dev ppl")
    os.close(terminal.fd)
    assert os.waitstatus_to_exitcode(os.waitpid(terminal.pid, 0)[1]) == 128 + signal.SIGHUP
    last = json.loads((out / "events.jsonl").read_text(encoding="utf-8").rstrip("\n").split("\n")[-1])
    assert last["event"] == "stopped"
    assert (out / "checkpoints" / f"step-{last['step']:08d}" / "MANIFEST.json").is_file()


@pytest.mark.parametrize("saved", [False, True])
def test_ctrl_c_before_the_loop_ends_at_once(
    saved: bool, reverse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, train: Train
) -> None:
    def interrupt(self: object, **options: object) -> None:
        raise KeyboardInterrupt

    if saved:
        (tmp_path / "checkpoints" / "step-00000070").mkdir(parents=True)
    monkeypatch.setattr("dragoman.cli.training_view.session.Run.train", interrupt)
    said = train(str(reverse), "-o", str(tmp_path))
    assert said.code == 130
    assert (
        "update 70 is saved. To resume:" if saved else "before anything was trained. To start:"
    ) in said.err
    assert f"dragoman train -o {tmp_path}\n" in said.err
