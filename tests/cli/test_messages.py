"""Small things that a new user met: names, words and figures that said too little, or what is not so."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.cli.check_text import leaked
from dragoman.cli.main import main
from dragoman.cli.score_tables import versus
from dragoman.data.clean.leakage import Overlap
from dragoman.data.clean.report import CheckReport
from dragoman.inference.model import load
from dragoman.metrics.significance import Comparison
from hostile.verbs import TINY, drive
from support.exported_folder import exported_folder
from support.tiny_bundle import tiny_folder


def test_run_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.tsv"
    file.write_text("a\tb\n" * 20, encoding="utf-8")
    done = drive("train", str(file), "-o", str(file), "--yes", *TINY)
    assert done.code == 2
    assert f"{file} is a file, but a run needs a folder." in done.err
    assert f"fix       -o {tmp_path / 'a-model'}\n" in done.err


def test_error_names_the_file_that_was_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tiny_folder(tmp_path / "model")
    out = tmp_path / "nowhere" / "out.txt"
    assert main(["run", str(tmp_path), "a", "-o", str(out)]) == 1
    err = capsys.readouterr().err
    assert f"where     {out}\n" in err
    assert ".part" not in err


@pytest.mark.parametrize(("verb", "needed"), [("run", "MODEL"), ("score", "MODEL FILE")])
def test_only_what_is_required_is_called_so(
    verb: str, needed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([verb]) == 2
    assert f"error  The following arguments are required: {needed}.\n" in capsys.readouterr().err


def test_leak_says_of_what_it_counts() -> None:
    (line,) = leaked("valid", Overlap(1014, 1, 0, 0, ()), CheckReport(["train.en"]), "valid.en")
    assert line.endswith(
        "none of its 1,014 pairs is in training, but 1 of its sources and 0 of its targets are"
    )
    (line,) = leaked("valid", Overlap(1014, 0, 0, 0, ()), CheckReport(["train.en"]), "valid.en")
    assert line.endswith("none of its 1,014 pairs is in training")


def test_p_is_no_smaller_than_the_draws_can_tell() -> None:
    rows = versus([Comparison("chrf", 40.0, 50.0, 0.001), Comparison("bleu", 4.0, 5.0, 0.002)], Path("x"))
    assert "≤ 0.001   this is better" in rows[-2]
    assert " 0.002   this is better" in rows[-1]


def test_runtime_is_shown_by_its_name(tmp_path: Path) -> None:
    tiny_folder(tmp_path / "model")
    assert repr(load(tmp_path).runtime) == "TorchRuntime('torch')"
    exported_folder(tmp_path / "light")
    assert repr(load(tmp_path / "light", runtime="ct2").runtime) == "ExportRuntime('ct2')"


def test_plan_says_what_it_leaves(tmp_path: Path) -> None:
    file = tmp_path / "a.tsv"
    file.write_text("".join(f"a {n}\tb {n}\n" for n in range(60)), encoding="utf-8")
    done = drive("train", str(file), "-o", str(tmp_path / "run"), "--plan", *TINY)
    assert done.code == 0, done.err
    assert f"The prepared data are kept in {tmp_path / 'run' / 'store'}.\n" in done.err
    assert (tmp_path / "run" / "store").is_dir()
