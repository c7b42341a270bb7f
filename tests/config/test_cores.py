"""Processors and threads: what affinity, control groups, OpenMP and torchrun allow."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dragoman import cores
from dragoman.cli.main import main

ALLOWED = 8  # cores by affinity


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine of 64 cores, 8 of them for this process, whose files can be written."""
    monkeypatch.setattr(cores, "ROOT", tmp_path)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(ALLOWED)), raising=False)
    for name in ("OMP_NUM_THREADS", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RUN_ID"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def write(system: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        file = system / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


V2 = "sys/fs/cgroup"
V1 = "sys/fs/cgroup/cpu,cpuacct"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, ALLOWED),
        ({"proc/self/cgroup": "0::/\n", f"{V2}/cpu.max": "max 100000\n"}, ALLOWED),
        ({"proc/self/cgroup": "0::/\n", f"{V2}/cpu.max": "200000 100000\n"}, 2),
        ({"proc/self/cgroup": "0::/\n", f"{V2}/cpu.max": "50000 100000\n"}, 1),
        ({"proc/self/cgroup": "0::/\n", f"{V2}/cpu.max": "390000 100000\n"}, 4),
        ({"proc/self/cgroup": "0::/\n", f"{V2}/cpu.max": "6400000 100000\n"}, ALLOWED),
        (
            {"proc/self/cgroup": "0::/a/b\n", f"{V2}/a/b/cpu.max": "max 1\n", f"{V2}/a/cpu.max": "3000 1000"},
            3,
        ),
        ({"proc/self/cgroup": "0::/host/only\n", f"{V2}/cpu.max": "200000 100000\n"}, 2),
        (
            {
                "proc/self/cgroup": "3:memory:/x\n2:cpu,cpuacct:/docker/abc\n1:name=systemd:/\n",
                f"{V1}/docker/abc/cpu.cfs_quota_us": "300000\n",
                f"{V1}/docker/abc/cpu.cfs_period_us": "100000\n",
            },
            3,
        ),
        (
            {
                "proc/self/cgroup": "2:cpu,cpuacct:/docker/out-of-sight\n0::/\n",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "200000\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            2,
        ),
        (
            {
                "proc/self/cgroup": "2:cpu,cpuacct:/\n",
                f"{V1}/cpu.cfs_quota_us": "-1\n",
                f"{V1}/cpu.cfs_period_us": "100000\n",
            },
            ALLOWED,
        ),
        ({"proc/self/cgroup": "0::/\n", f"{V2}/cpu.max": "what is this"}, ALLOWED),
    ],
)
def test_cores_follow_control_groups_of_both_versions(
    system: Path, files: dict[str, str], expected: int
) -> None:
    write(system, files)
    assert cores.cores() == expected


def test_a_system_without_affinity_counts_its_processors(
    system: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    assert cores.cores() == 64


def test_threads_are_asked_for_or_told_by_openmp_or_shared_by_the_ranks(
    system: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cores.threads() == 8
    assert cores.threads(most=4) == 4
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    assert cores.threads() == 4
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "16")
    assert cores.threads() == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "5,2")
    assert cores.threads() == 5
    assert cores.threads(most=4) == 5
    assert cores.threads(3) == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "nonsense")
    assert cores.threads() == 1


def test_the_one_thread_that_torchrun_sets_by_itself_is_not_a_wish(
    system: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What torchrun was started with tells whether somebody had set it."""
    for name, value in {"LOCAL_WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": "x", "OMP_NUM_THREADS": "1"}.items():
        monkeypatch.setenv(name, value)
    launcher = f"proc/{os.getppid()}/environ"
    write(system, {launcher: "PATH=/bin\0HOME=/\0"})
    assert cores.threads() == 4
    write(system, {launcher: "PATH=/bin\0OMP_NUM_THREADS=1\0"})
    assert cores.threads() == 1
    (system / launcher).unlink()  # where it cannot be known, what is written counts
    assert cores.threads() == 1


def test_a_command_that_trains_lets_threads_sleep_while_they_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that spin take the cores from other processes. A policy that is set stays."""
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    assert main(["train"]) == 2  # no data: it is set before anything else
    assert os.environ["OMP_WAIT_POLICY"] == "ACTIVE"
    monkeypatch.delenv("OMP_WAIT_POLICY")
    assert main(["train"]) == 2
    assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"
