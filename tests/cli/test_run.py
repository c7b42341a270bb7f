"""`dragoman run`: arguments, stdin and files, line for line."""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.models.bundle import Bundle, add_calibration
from dragoman.search.repetition import OutputBounds
from support.exported_folder import CALIBRATION
from support.tiny_bundle import saved, tiny, tiny_folder, tiny_lm

Feed = Callable[[bytes], None]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("run")
    tiny_folder(folder / "model")
    return str(folder)


@pytest.fixture
def feed(monkeypatch: pytest.MonkeyPatch) -> Feed:
    def give(data: bytes) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(data))))

    return give


@pytest.mark.parametrize("is_terminal", [False, True])
def test_a_text_prints_its_translation(
    model: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, is_terminal: bool
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
    assert main(["run", model, "a b c"]) == 0
    out, err = capsys.readouterr()
    assert out.count("\n") == 1
    assert out.strip()
    assert (f"Next: dragoman score {model}" in err) == is_terminal


def test_two_texts_print_two_lines_in_order(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", model, "a b c", "d e"])
    both = capsys.readouterr().out
    main(["run", model, "a b c"])
    main(["run", model, "d e"])
    assert capsys.readouterr().out == both


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_stdin_is_answered_line_for_line(
    model: str, feed: Feed, capsys: pytest.CaptureFixture[str], end: bytes
) -> None:
    feed(b"a b\r\n\nc\n   \nd e f" + end)
    assert main(["run", model]) == 0
    lines = capsys.readouterr().out.split("\n")
    assert len(lines) == 5 + (end == b"\n")
    assert [line == "" for line in lines[:5]] == [False, True, False, True, False]


def test_nothing_in_is_nothing_out(model: str, feed: Feed, capsys: pytest.CaptureFixture[str]) -> None:
    feed(b"")
    assert main(["run", model]) == 0
    assert capsys.readouterr().out == ""


def test_a_file_goes_to_a_file(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("a b\nc d e\n")
    assert main(["run", model, "--file", str(source), "-o", str(target)]) == 0
    assert capsys.readouterr().out == ""
    main(["run", model, "a b", "c d e"])
    assert target.read_text() == capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt", "out.txt"]


def test_an_output_keeps_the_permissions_and_the_link_of_the_file_it_replaces(
    model: str, tmp_path: Path
) -> None:
    secret, link = tmp_path / "there" / "out.txt", tmp_path / "link.txt"
    secret.parent.mkdir()
    secret.write_text("before")
    secret.chmod(0o600)
    link.symlink_to(secret)
    assert main(["run", model, "a b", "-o", str(link)]) == 0
    assert link.is_symlink()
    assert secret.read_text() != "before"
    assert secret.stat().st_mode & 0o777 == 0o600
    assert os.listdir(secret.parent) == ["out.txt"]


def test_a_file_that_ends_in_gz_is_compressed_and_a_dash_is_stdout(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "out.txt.gz"
    assert main(["run", model, "a b", "c d e", "-o", str(target)]) == 0
    main(["run", model, "a b", "c d e", "-o", "-"])
    assert gzip.decompress(target.read_bytes()).decode() == capsys.readouterr().out
    first = target.read_bytes()
    main(["run", model, "a b", "c d e", "-o", str(target)])
    assert target.read_bytes() == first, "the time is not in it"
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt.gz"]


def test_a_command_that_is_ended_leaves_no_part_of_its_output(
    model: str, tmp_path: Path, dragoman: list[str]
) -> None:
    target = tmp_path / "out.txt"
    command = [*dragoman, "run", model, "-o", str(target)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(b"a b c\n")
    process.stdin.flush()
    end = time.monotonic() + 120
    while not any(file.stat().st_size for file in tmp_path.iterdir()):
        assert time.monotonic() < end, "nothing was written"
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert b"Traceback" not in err
    assert os.listdir(tmp_path) == []


def test_a_gzip_file_is_read(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "in.txt.gz"
    source.write_bytes(gzip.compress(b"a b\n"))
    assert main(["run", model, "--file", str(source)]) == 0
    assert capsys.readouterr().out.count("\n") == 1


def test_json_gives_an_object_a_line(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", model, "--json", "a b", "c"])
    rows = [json.loads(line) for line in capsys.readouterr().out.split("\n")[:-1]]
    assert [sorted(row) for row in rows] == [["flags", "line", "score", "source", "text", "truncated"]] * 2
    assert [(row["line"], row["source"]) for row in rows] == [(1, "a b"), (2, "c")]
    assert all(row["score"] < 0 for row in rows)


def test_details_add_tokens_and_alignment(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", model, "--json", "--details", "a b c"])
    row = json.loads(capsys.readouterr().out)
    assert sorted(row) == ["alignment", "flags", "line", "score", "source", "text", "tokens", "truncated"]
    assert sorted(row["tokens"][0]) == ["at", "confidence", "entropy", "log_p", "piece", "source"]
    assert all(len(pair) == 2 for pair in row["alignment"])


def test_flagged_lines_are_named(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", model, "--json", "a", "a b c d e f g h i j k l m n o p " * 3, "search.size=1"])
    out, err = capsys.readouterr()
    flags = [json.loads(line)["flags"] for line in out.split("\n")[:-1]]
    told = [line for line in err.split("\n") if line.startswith(("Truncated", "Review"))]
    assert bool(told) == any(flags)
    for number, found in enumerate(flags, start=1):
        if found and "truncated" not in found:
            assert f"line {number}: {' '.join(found)}" in err


def test_output_that_the_guard_stopped_is_told_from_one_that_is_too_long(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny_folder(tmp_path / "model")
    bounds = OutputBounds(ratio=1.0, longest=0, repeats=None)
    add_calibration(tmp_path / "model", CALIBRATION.model_copy(update={"bounds": bounds}))
    for limit, said in ((90, "Stopped"), (20, "Truncated")):
        main(["run", str(tmp_path), "--json", "a b c d", "search.size=1", f"search.max_length={limit}"])
        out, err = capsys.readouterr()
        assert json.loads(out)["truncated"]
        assert f"{said}: 1 output (line 1)" in err
        assert "Review" not in err


def test_settings_change_the_search(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", model, "--json", "a b c", "search.max_length=1", "--batch", "2"])
    out, err = capsys.readouterr()
    assert len(json.loads(out)["text"].split()) <= 1
    assert ("Truncated: 1" in err) == json.loads(out)["truncated"]


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("search.sise=1", 'Did you mean "search.size"'),
        ("model.preset=rnn-small", "Only search"),
        ("search.size=0", "search.size"),
    ],
)
def test_a_wrong_setting_is_explained(
    model: str, setting: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", model, "a", setting]) == 2
    assert said in capsys.readouterr().err


def test_a_batch_of_none_is_explained(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", model, "a", "--batch", "0"]) == 2
    assert "batch_sentences" in capsys.readouterr().err


@pytest.mark.parametrize("more", [["the"], ["--", "the"], ["--nbest", "3"]])
def test_what_has_no_effect_beside_continue_is_refused(
    more: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lm = saved(tmp_path / "lm", tiny_lm())
    assert main(["run", str(lm), "--continue", "a b", *more]) == 2
    assert capsys.readouterr().out == ""


def test_text_and_file_together_are_refused(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", model, "a", "--file", "b"]) == 2
    assert "not both" in capsys.readouterr().err


def test_bytes_that_are_not_utf8_are_named_after_the_good_lines(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "latin.txt"
    source.write_bytes(b"a b\ncaf\xe9\n")
    assert main(["run", model, "--file", str(source)]) == 3
    out, err = capsys.readouterr()
    assert out.count("\n") == 1
    assert f"{source}:2:4" in err
    assert "iconv" in err


def test_a_failed_run_leaves_no_output_file(model: str, tmp_path: Path) -> None:
    source, target = tmp_path / "latin.txt", tmp_path / "out.txt"
    source.write_bytes(b"caf\xe9\n")
    target.write_text("from before\n")
    assert main(["run", model, "--file", str(source), "-o", str(target)]) == 3
    assert target.read_text() == "from before\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["latin.txt", "out.txt"]


def test_an_argument_that_is_not_utf8_is_refused(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", model, "caf\udce9"]) == 3
    assert "not UTF-8" in capsys.readouterr().err


def test_a_missing_file_and_a_missing_model_have_their_sentences(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", model, "--file", str(tmp_path / "none.txt")]) == 3
    assert main(["run", str(tmp_path / "none"), "a"]) == 1
    err = capsys.readouterr().err
    assert "no such file" in err
    assert "no such folder" in err
    assert "Traceback" not in err


def test_an_argument_that_is_a_file_is_read_as_one(
    model: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a b").write_text("c d\ne f", encoding="utf-8")  # the last line has no end
    with gzip.open("more.gz", "wt", encoding="utf-8") as file:
        file.write("g\n")
    read = sources(model, capsys, Path("trace"), "a b", "h", "more.gz", "a", "b")
    assert read == ["c d", "e f", "h", "g", "a", "b"]
    assert sources(model, capsys, Path("trace"), "--", "a b") == ["a b"]
    assert main(["run", model, "a b", "h"]) == 0
    out, err = capsys.readouterr()
    assert out.count("\n") == 3
    assert "a b is a file: its lines are translated.\n" in err
    assert f"translated.\nTo translate its name: dragoman run {model} -- a b\n" in err


def test_of_a_tsv_the_first_column_is_translated(
    model: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "a.tsv"
    file.write_text("c d\te\nf\n")
    assert sources(model, capsys, tmp_path / "trace", str(file)) == ["c d", "f"]
    assert main(["run", model, str(file)]) == 0
    out, err = capsys.readouterr()
    assert out.count("\n") == 2
    assert "the first column of its lines is translated" in err


def test_of_a_file_of_pairs_the_sources_are_translated(
    model: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    lines = tmp_path / "test.jsonl.gz"
    lines.write_bytes(gzip.compress(b'{"src": "c d", "tgt": "e"}\n{"src": "f", "tgt": "g"}\n'))
    table = tmp_path / "test.csv"
    table.write_text('de,en\n"e, f",c d\ng,h\n')
    trace = tmp_path / "trace"
    assert sources(model, capsys, trace, str(lines)) == ["c d", "f"]
    assert sources(model, capsys, trace, str(table), "--languages", "en", "de") == ["c d", "h"]
    assert main(["run", model, str(lines)]) == 0
    assert "is a file of pairs: their sources are translated" in capsys.readouterr().err


def test_pairs_of_either_direction_are_read_as_the_model_was_trained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = tiny()
    corpus = bundle.config.data.train[0].model_copy(update={"files": ["train.en", "train.de"]})
    data = bundle.config.data.model_copy(update={"train": [corpus]})
    config = bundle.config.model_copy(update={"data": data})
    saved(tmp_path / "model", Bundle(config, bundle.text, bundle.model))
    model, turned, trace = str(tmp_path), tmp_path / "test.jsonl", tmp_path / "trace"
    turned.write_text('{"de": "a b", "en": "c d"}\n')
    assert sources(model, capsys, trace, str(turned)) == ["c d"]
    assert sources(model, capsys, trace, str(turned), "--languages", "de", "en") == ["a b"]
    unnamed = tmp_path / "test.csv"
    unnamed.write_text("source,target\na b,c d\n")
    assert sources(model, capsys, trace, str(unnamed)) == ["a b"]
    assert main(["score", model, str(turned), "--json"]) == 0
    one = json.loads(capsys.readouterr().out)
    assert main(["score", model, str(turned), "--languages", "en", "de", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["chrf"] == one["chrf"]


def test_a_name_of_a_document_that_is_missing_is_no_text(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["run", "no-model", "typo.po", "-o", str(tmp_path / "typo.de.po")]) == 2
    assert "There is no such document." in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["film.vtt", "app.JSON", "app.strings", "page.html.gz"])
@pytest.mark.parametrize("option", [[], ["--file"]])
def test_a_file_with_a_syntax_that_is_not_read_is_refused_with_what_to_do(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, option: list[str]
) -> None:
    file = tmp_path / name
    file.touch()
    assert main(["run", "no-model", *option, str(file)]) == 2  # before the model is opened
    err = capsys.readouterr().err
    assert "its syntax would be translated" in err
    assert f"cat {file} | dragoman run no-model" in err


def test_a_file_with_a_word_per_line_is_refused_with_the_command_that_makes_lines_of_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "dev.conllu"
    file.write_text("# one\n1\tplay\tVERB\n2\tjazz\tNOUN\n\n# two\n1\tstop\tVERB\n", encoding="utf-8")
    assert main(["run", "no-model", str(file)]) == 2
    fix = capsys.readouterr().err.split("fix ")[1].strip()
    command, _, rest = fix.rpartition(" | ")
    assert rest == "dragoman run no-model"
    assert subprocess.run(command, shell=True, capture_output=True, text=True).stdout == "play jazz\nstop\n"


def test_a_name_of_a_file_that_is_missing_is_text_and_said_to_be(
    model: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    name = str(tmp_path / "nofile.en")
    assert main(["run", model, name]) == 0
    assert f"There is no file {name}, so its name is the text.\n" in capsys.readouterr().err
    assert main(["run", model, "a b.", "--", "nofile.en"]) == 0
    assert "There is no file" not in capsys.readouterr().err


def sources(model: str, capsys: pytest.CaptureFixture[str], trace: Path, *arguments: str) -> list[str]:
    """What a command line asks a model to translate."""
    assert main(["run", model, "--trace", str(trace), *arguments]) == 0
    capsys.readouterr()
    return [row["source"] for row in json.loads(trace.read_text())]


def test_text_that_looks_like_a_setting_is_text(
    model: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    odd = ["a.b=c", "date.year=2024", "os.environ=x", "user.name=Ann Lee"]
    assert sources(model, capsys, tmp_path / "trace", *odd, "search.size=2") == odd


def test_behind_dashes_all_is_text(model: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    odd = ["search.size=1", "--json", "-", "--", "training.lr=3", "a b"]
    asked = ["c d", "search.size=2", "--", *odd]
    assert sources(model, capsys, tmp_path / "trace", *asked) == ["c d", *odd]


@pytest.mark.parametrize("typo", ["search.siez=3", "serach.size=3", "training.lr=3"])
def test_a_setting_that_is_none_is_refused_and_not_translated(
    model: str, capsys: pytest.CaptureFixture[str], typo: str
) -> None:
    assert main(["run", model, "a b", typo]) == 2
    out, err = capsys.readouterr()
    assert not out
    assert typo.partition("=")[0] in err
    assert f"If it is text: dragoman run {model} --" in err
