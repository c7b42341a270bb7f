from __future__ import annotations

import argparse
import json
import os
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.cli.verbs import check as verb
from dragoman.data.clean.check import check
from dragoman.data.clean.cleaner import clean
from dragoman.data.clean.drift import DriftDetector
from dragoman.data.clean.length_ratio import LengthRatio
from dragoman.data.clean.normalise import normalise
from dragoman.data.clean.seen_hashes import SeenHashes
from dragoman.data.pair import Pair
from dragoman.data.readers.open_pairs import open_lines, open_pairs
from dragoman.errors import UsageError

DATA = os.environ.get("DRAGOMAN_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="DRAGOMAN_DATA does not name the folder with the corpora")


def sentences(count: int, seed: int = 1) -> list[Pair]:
    """Pairs whose lengths go together, as those of translations do."""
    rng = random.Random(seed)
    pairs = []
    for line in range(1, count + 1):
        words = rng.randrange(3, 25)
        source = " ".join(rng.choice(["man", "dog", "street", "red", "a"]) for _ in range(words))
        target = " ".join(rng.choice(["Mann", "Hund", "Straße", "rot", "ein"]) for _ in range(words))
        pairs.append(Pair(source + ".", target + ".", line))
    return pairs


def write(folder: Path, pairs: list[Pair]) -> list[str]:
    for suffix, side in (("en", 0), ("de", 1)):
        (folder / f"a.{suffix}").write_text(
            "".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8", newline=""
        )
    return [str(folder / "a.en"), str(folder / "a.de")]


def run(*argv: str) -> int:
    parser = argparse.ArgumentParser()
    verb.add_arguments(parser)
    return verb.run(parser.parse_args(argv))


def paired(sources: list[str], targets: list[str]) -> list[Pair]:
    return [Pair(s, t, n) for n, (s, t) in enumerate(zip(sources, targets, strict=False), 1)]


def detect(pairs: list[Pair], block: int = 8192) -> DriftDetector:
    detector = DriftDetector()
    for start in range(0, len(pairs), block):
        detector.add(pairs[start : start + block])
    return detector


@given(st.lists(st.lists(st.integers(0, 60), max_size=20)))
@settings(deadline=None)
def test_seen_agrees_with_a_set(batches: list[list[int]]) -> None:
    seen, known = SeenHashes(), set[int]()
    for batch in batches:
        expected = []
        for value in batch:
            expected.append(value in known)
            known.add(value)
        assert seen.add(np.array(batch, dtype=np.uint64)).tolist() == expected


def test_normal_ignores_case_space_and_punctuation_but_not_vowel_signs() -> None:
    assert normalise("  Hello,  WORLD! ") == normalise("hello world") == "helloworld"
    assert normalise("Cafe\u0301") == normalise("CAF\u00c9")
    assert normalise("\u0915\u093e") != normalise("\u0915\u0940")
    assert normalise("?!") != normalise("...")


def test_ratio_is_robust_and_finds_the_far_ones() -> None:
    ratio = LengthRatio()
    pairs = sentences(500)
    far = Pair("A sentence of quite ordinary length, as they come.", "@@", 501)
    for pair in [*pairs, *[far] * 50]:
        ratio.add(pair)
    ratio.settle()
    assert ratio.is_outlier(far)
    assert not any(ratio.is_outlier(pair) for pair in pairs)


def test_check_counts_each_pair_once(tmp_path: Path) -> None:
    pairs = sentences(300)
    odd = [pairs[7], Pair("", "x", 0), Pair(" ", "", 0), Pair("same same same", "same same same", 0)]
    odd += [Pair("a\x07 bell rings here", "eine Glocke läutet", 0), Pair("y" * 5000, "z" * 5000, 0)]
    files = write(tmp_path, [*pairs, *odd])
    report = check(files)
    assert (report.pairs, report.kept, report.usable) == (306, 302, True)
    assert (report.duplicates.count, report.empty.count, report.lengths.count) == (1, 2, 1)
    assert (report.copies.count, report.controls.count) == (1, 1)
    assert report.duplicates.examples[0].line == 301
    assert report.kept == sum(1 for _ in clean(lambda: open_pairs(files), LengthRatio()))
    json.dumps(report.to_json())


def test_leakage_counts_sources_targets_and_pairs(tmp_path: Path) -> None:
    pairs = sentences(300)
    train, valid = tmp_path / "train", tmp_path / "valid"
    train.mkdir()
    valid.mkdir()
    leaks = [Pair(pairs[9].src.upper(), pairs[9].tgt + "!", 1), Pair(pairs[20].src, "Neu und anders.", 2)]
    leaks += [Pair("new and other", pairs[30].tgt, 3), Pair("all new", "ganz neu", 4)]
    overlap = check(write(train, pairs), valid=write(valid, leaks)).leakage["valid"]
    assert (overlap.pairs, overlap.sources, overlap.targets, overlap.both) == (4, 2, 2, 1)
    assert [twin[:2] for twin in overlap.twins] == [(1, 10)]


@pytest.mark.parametrize("block", [50, 8192])
@pytest.mark.parametrize(("shift", "place"), [(-1, 700), (1, 700), (-2, 1500), (3, 40)])
def test_a_shift_is_found_within_thirty_lines(shift: int, place: int, block: int) -> None:
    pairs = sentences(2000)
    targets = [pair.tgt for pair in pairs]
    targets[place:place] = ["Ein Satz."] * max(0, shift)
    del targets[place : place + max(0, -shift)]
    drift = detect(paired([pair.src for pair in pairs], targets), block).find()
    assert drift is not None
    assert abs(drift.first - place) <= 30
    assert (drift.shift, drift.last) == (shift, None)


def test_a_shifted_block_is_found_from_first_to_last() -> None:
    pairs = sentences(2000)
    targets = [pair.tgt for pair in pairs]
    targets = targets[:500] + targets[501:700] + ["Ein Satz."] + targets[700:]
    drift = detect(paired([pair.src for pair in pairs], targets)).find()
    assert drift is not None
    assert abs(drift.first - 501) <= 30
    assert drift.last is not None
    assert abs(drift.last - 700) <= 30


def test_no_drift_in_aligned_pairs_or_in_noise() -> None:
    rng = random.Random(3)
    pairs = sentences(2000)
    assert detect(pairs).find() is None
    shuffled = [pair.tgt for pair in rng.sample(pairs, len(pairs))]
    assert detect(paired([pair.src for pair in pairs], shuffled)).find() is None
    assert detect([Pair("same", "gleich", n) for n in range(1000)]).find() is None


@needs_data
@pytest.mark.parametrize("place", [300, 14_500, 28_700])
def test_a_deleted_line_of_multi30k_is_found(place: int) -> None:
    folder = Path(DATA or "") / "multi30k"
    sources = list(open_lines(folder / "train.en"))
    targets = list(open_lines(folder / "train.de"))
    del targets[place - 1]
    start = max(0, place - 4000)  # a part of it, for the time
    part = paired(sources[start : start + 8000], targets[start : start + 8000])
    drift = detect(part).find()
    assert drift is not None
    assert abs(drift.first + start - place) <= 30


@needs_data
@pytest.mark.slow
def test_no_false_alarm_on_clean_corpora() -> None:
    folder = Path(DATA or "")
    for source, target in (
        ("multi30k/train.en", "multi30k/train.de"),
        ("multi30k/train.en", "multi30k/train.fr"),
        ("tatoeba-deu-eng/train.deu", "tatoeba-deu-eng/train.eng"),
        ("tatoeba-deu-eng/test.deu", "tatoeba-deu-eng/test.eng"),
    ):
        assert check([folder / source, folder / target]).drift is None


def test_the_report_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = sentences(1200)
    targets = [pair.tgt for pair in pairs]
    shifted = paired([pair.src for pair in pairs], [*targets[:600], "Noch ein Satz.", *targets[600:]])
    write(tmp_path, [*shifted[:1200], pairs[0]])
    monkeypatch.chdir(tmp_path)
    assert run("a.en", "a.de") == 0
    shown = capsys.readouterr()
    first, second, *rest = shown.out.split("\n")
    assert first == "a.en ↔ a.de   1,201 pairs    en → de"
    assert second.startswith("  data.clean=true would keep 1,138 and drop: 1 duplicate · 62 too long/short")
    assert any(
        line.startswith("  ! lines from 60") and "look shifted by one    a.en:60" in line for line in rest
    )
    assert shown.err == "Next: review the warnings; then dragoman train a.en a.de -o en-de\n"


def test_what_training_would_refuse_exits_with_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.tsv").write_bytes(b"a\tb\nno tab\n\xff\tc\n")
    assert run(str(tmp_path / "a.tsv")) == 3
    shown = capsys.readouterr().out
    assert "✗ 1 line without two columns" in shown
    assert "✗ 1 line not UTF-8" in shown
    assert f"where     {tmp_path}/a.tsv:2" in shown


def test_a_folder_with_settings_stands_for_its_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, sentences(50))
    (tmp_path / "dragoman.toml").write_text('[data]\ntrain = ["a.en", "a.de"]\nvalid = ["a.en", "a.de"]\n')
    assert run("--json", str(tmp_path)) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["pairs"] == 50
    assert report["leakage"]["valid"]["both"] == 50


def test_hold_out_writes_files_and_names_the_next_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = write(tmp_path, sentences(200))
    out = str(tmp_path / "parts")
    assert run(*files, "--hold-out", "5", "-o", out) == 0
    assert f"dragoman train {out}/train.en {out}/train.de --valid {out}/valid.en" in capsys.readouterr().err
    report = check([f"{out}/train.en", f"{out}/train.de"], valid=[f"{out}/valid.en", f"{out}/valid.de"])
    assert report.leakage["valid"].sources == report.leakage["valid"].targets == 0


def test_the_catalogues_of_a_program_are_checked_and_split_as_one_memory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, units in (("a.po", range(40)), ("b.po", range(40, 100))):
        entries = [f'msgid "unit number {unit}"\nmsgstr "Einheit Nummer {unit}"\n' for unit in units]
        Path(name).write_text("\n".join(entries), encoding="utf-8")
    assert run("a.po", "b.po") == 0
    shown = capsys.readouterr()
    assert "a.po   40 pairs" in shown.out
    assert "b.po   60 pairs" in shown.out
    assert shown.err == "Next: dragoman train a.po b.po -o model\n"
    assert run("a.po", "b.po", "--hold-out", "5", "-o", "parts") == 0
    parts = {name: list(open_pairs([f"parts/{name}.jsonl"])) for name in ("train", "valid", "test")}
    assert {name: len(pairs) for name, pairs in parts.items()} == {"train": 90, "valid": 5, "test": 5}
    numbers = [int(pair.src.split()[-1]) for pairs in parts.values() for pair in pairs]
    assert sorted(numbers) == list(range(100))


def test_hold_out_needs_a_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        run("a.en", "a.de", "--hold-out", "5")


def test_without_files_the_machine_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--json") == 0
    assert json.loads(capsys.readouterr().out)["cores"] >= 1
    assert run() == 0
    assert "cores" in capsys.readouterr().out
