"""Systems that lack a part of POSIX: macOS has no affinity, Windows neither `pread` nor `resource`."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dragoman.data.readers.open_pairs import open_pairs
from dragoman.data.store.reader import StoreReader
from support.stores import write_store

AS_ON_WINDOWS = """
import sys
sys.modules["resource"] = None
sys.platform = "win32"
from dragoman.allocator import keep_freed_memory, peak_bytes
keep_freed_memory()
print(peak_bytes())
"""


def test_memory_is_not_known_on_windows_but_asked_for_in_vain() -> None:
    done = subprocess.run([sys.executable, "-c", AS_ON_WINDOWS], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "0"), done.stderr


def test_a_store_is_read_without_pread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pread")
    pairs = [([4 + n, 5], [6, 7 + n, 8]) for n in range(30)]
    write_store(tmp_path / "s", pairs, vocabulary=99, shard_pairs=7)
    rows = [29, 3, 3, 17, 0]
    found = StoreReader(tmp_path / "s").read(np.array(rows, np.int64))
    assert [(src.tolist(), tgt.tolist()) for src, tgt in found] == [pairs[row] for row in rows]


def test_gzip_is_read_without_pread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pread")
    file = tmp_path / "pairs.tsv.gz"
    file.write_bytes(gzip.compress("".join(f"a {n}\tb {n}\n" for n in range(1000)).encode()))
    assert [(pair.src, pair.tgt) for pair in open_pairs([file])][999] == ("a 999", "b 999")
