"""The files of launch/ and the commands of docs/scale.md train on two machines as in one process.

The machines are network namespaces if the tests may create them, or else two starts of torchrun on this one.
Commands of Slurm are replaced by scripts that do the same on these machines.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.robustness.same_bits import last_step
from benchmarks.scale.emulated_nodes import LINK, Node, emulated_nodes, why_not
from benchmarks.scale.restarts import SETTINGS, write_data
from support.pages import PAGES, ROOT, blocks
from support.runs import losses

SBATCH = ROOT / "launch" / "train.sbatch"
TRAINJOB = ROOT / "launch" / "trainjob.yaml"
SCALE = ROOT / "docs" / "scale.md"
OWN_STORE = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"
UPDATES = 150
ROUNDING = 1e-3  # the relative difference of two losses after as many updates
JOB = "4711"

SCONTROL = f"""#!/bin/sh
case "$1 $2" in
  "show hostnames") for node in $3; do echo "$node"; done;;
  "requeue {JOB}") echo requeued >> "$STUBS/requeued";;
  *) exit 64;;
esac
"""
SCANCEL = f"""#!/bin/sh
[ "$*" = "--signal=TERM {JOB}" ] || exit 64
kill -TERM $(cat "$STUBS/tasks")
"""


class Cluster:
    """Two machines, and a folder of programs that come first on the PATH."""

    def __init__(self, home: Path, nodes: list[Node] | None) -> None:
        self.home = home
        self.nodes = nodes
        self.addresses = [node.address for node in nodes] if nodes else ["127.0.0.1", "127.0.0.1"]
        self.stubs = home / "stubs"
        self.stubs.mkdir()
        self.add("torchrun", f'#!/bin/sh\nexec "{sys.executable}" -m torch.distributed.run "$@"\n')
        self.add("scontrol", SCONTROL)
        self.add("scancel", SCANCEL)
        self.add("srun", self._srun())

    def add(self, name: str, text: str) -> None:
        (self.stubs / name).write_text(text, encoding="utf-8")
        (self.stubs / name).chmod(0o755)

    def _srun(self) -> str:
        """One task per machine; it fails if one of them does."""
        lines = ["#!/bin/bash", 'while [[ "$1" == --* ]]; do shift; done', 'rm -f "$STUBS/tasks"']
        for number in (0, 1):
            here = " ".join(f"{name}={value}" for name, value in self.of_machine(number).items())
            there = " ".join(self.nodes[number].command()) if self.nodes else ""
            lines.append(f'SLURM_NODEID={number} {here} {there} "$@" & echo $! >> "$STUBS/tasks"')
        lines += [
            "code=0",
            'for task in $(cat "$STUBS/tasks"); do wait "$task" || code=1; done',
            "exit $code",
        ]
        return "\n".join(lines) + "\n"

    def of_machine(self, number: int) -> dict[str, str]:
        """What a machine of a cluster finds by its host name."""
        interface = {"GLOO_SOCKET_IFNAME": LINK} if self.nodes else {}
        return {"PET_LOCAL_ADDR": self.addresses[number], **interface}

    def environment(self, **more: str) -> dict[str, str]:
        path = f"{self.stubs}{os.pathsep}{os.environ['PATH']}"
        return {**os.environ, "PATH": path, "STUBS": str(self.stubs), "OMP_NUM_THREADS": "1", **more}

    def train(self, out: Path) -> list[str]:
        data = [str(self.home / "train.tsv"), "--valid", str(self.home / "valid.tsv")]
        lengths = [f"training.{name}={UPDATES}" for name in ("updates", "validate_every")]
        return [*data, "-o", str(out), "--yes", *SETTINGS, *lengths]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    home = tmp_path_factory.mktemp("cluster")
    write_data(home)
    if why_not():
        yield Cluster(home, None)
        return
    with emulated_nodes(2) as nodes:
        yield Cluster(home, nodes)


@pytest.fixture(scope="module")
def alone(cluster: Cluster) -> list[float]:
    """The losses of the run in one process."""
    out = cluster.home / "alone"
    command = [sys.executable, "-m", "dragoman", "train", *cluster.train(out), "training.micro_batches=2"]
    done = subprocess.run(command, env=cluster.environment(), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return losses(out)


def free_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


@pytest.mark.slow
def test_a_slurm_job_saves_before_its_time_limit_and_resumes(cluster: Cluster, alone: list[float]) -> None:
    out = cluster.home / "slurm"
    environment = cluster.environment(
        SLURM_JOB_ID=JOB,
        SLURM_JOB_NUM_NODES="2",
        SLURM_JOB_NODELIST=" ".join(cluster.addresses),
        RANKS_PER_NODE="1",
        RDZV_PORT=free_port(),
    )
    said = cluster.home / "slurm.txt"

    def sbatch() -> subprocess.Popen[bytes]:
        with said.open("ab") as file:
            command = ["bash", str(SBATCH), *cluster.train(out)]
            return subprocess.Popen(command, env=environment, stdout=file, stderr=file)

    job = sbatch()
    while last_step(out) < UPDATES // 5 and job.poll() is None:
        time.sleep(0.02)
    job.send_signal(signal.SIGUSR1)
    job.wait(120)
    text = said.read_text(encoding="utf-8")
    assert "Saved at update" in text, text
    assert (cluster.stubs / "requeued").read_text() == "requeued\n", text
    assert not (out / "model").exists()
    assert sbatch().wait(120) == 0, said.read_text(encoding="utf-8")
    assert losses(out) == pytest.approx(alone, rel=ROUNDING)


def by_hand(cluster: Cluster, number: int) -> tuple[str, dict[str, str]]:
    """The command of docs/scale.md for several machines."""
    (block,) = [block.body for block in blocks(SCALE, "bash") if "--nnodes 2" in block.body]
    # Here the machines have no host names, by which torchrun finds out which of them is the host.
    is_host = {"PET_RDZV_CONF": f"is_host={number == 0}"}
    return block.replace("host1", cluster.addresses[0]).replace("node gpu", "node 1"), is_host


def by_trainer(cluster: Cluster, number: int) -> tuple[str, dict[str, str]]:
    """The command of the TrainJob, with the variables that Kubeflow Trainer sets."""
    trainer = yaml_of(TRAINJOB.read_text(encoding="utf-8"))["spec"]["trainer"]
    pet = {"PET_NNODES": "2", "PET_NPROC_PER_NODE": "1", "PET_NODE_RANK": str(number)}
    pet |= {"PET_MASTER_ADDR": cluster.addresses[0], "PET_MASTER_PORT": "29500"}
    pet |= {variable["name"]: variable["value"] for variable in trainer["env"]}
    words = [re.sub(r"\$\((\w+)\)", lambda found: pet[found[1]], word) for word in trainer["command"]]
    return shlex.join(words), {**pet, "PET_RDZV_CONF": f"is_host={number == 0}"}


def by_skypilot(cluster: Cluster, number: int) -> tuple[str, dict[str, str]]:
    """The task of docs/scale.md, with the variables that SkyPilot sets."""
    (task,) = [yaml_of(block.body) for block in blocks(SCALE, "yaml") if "SKYPILOT" in block.body]
    sky = {"NUM_NODES": "2", "NUM_GPUS_PER_NODE": "1", "NODE_RANK": str(number), "TASK_ID": JOB}
    sky["NODE_IPS"] = "\n".join(cluster.addresses)
    return task["run"], {**task["envs"], **{f"SKYPILOT_{name}": value for name, value in sky.items()}}


def yaml_of(text: str) -> Any:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed; pip install dragoman[docs]")
    return yaml.safe_load(text)


@pytest.mark.slow
@pytest.mark.parametrize("way", [by_hand, by_trainer, by_skypilot])
def test_two_machines_have_the_losses_of_one_process(
    way: Callable[[Cluster, int], tuple[str, dict[str, str]]], cluster: Cluster, alone: list[float]
) -> None:
    out = cluster.home / way.__name__
    port = free_port()
    processes = []
    for number in (0, 1):
        command, variables = way(cluster, number)
        start, train, _ = command.partition(" -m dragoman train ")
        assert train, command
        text = f"{start.replace('29500', port)}{train}{shlex.join(cluster.train(out))}"
        there = cluster.nodes[number].command() if cluster.nodes else []
        environment = cluster.environment(**variables, **cluster.of_machine(number))
        processes.append(
            subprocess.Popen([*there, "sh", "-c", text], env=environment, stderr=subprocess.PIPE, text=True)
        )
    errors = [process.communicate(timeout=300)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], errors
    assert losses(out) == pytest.approx(alone, rel=ROUNDING)


def test_the_slurm_file_is_a_shell_script() -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    subprocess.run([bash, "-n", str(SBATCH)], check=True)


def test_every_start_that_may_restart_has_its_own_store() -> None:
    """In launch/, and in every command of a page."""
    assert f"export {OWN_STORE}=1\n" in SBATCH.read_text(encoding="utf-8")
    assert f'name: {OWN_STORE}\n        value: "1"\n' in TRAINJOB.read_text(encoding="utf-8")
    every = [block.body for page in PAGES for block in blocks(page, "console", "yaml", "bash")]
    restarting = [body for body in every if "--max-restarts" in body]
    assert restarting
    assert all(f"{OWN_STORE}=1" in body or f'{OWN_STORE}: "1"' in body for body in restarting)


@pytest.mark.slow
@pytest.mark.parametrize(("own", "restarts"), [("0", "1"), ("1", "1"), ("0", "0")])
def test_restarts_in_a_shared_store_are_warned_of(own: str, restarts: str, tmp_path: Path) -> None:
    write_data(tmp_path)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    data = [str(tmp_path / "train.tsv"), "--valid", str(tmp_path / "valid.tsv"), "-o", str(tmp_path / "run")]
    done = subprocess.run(
        [*torchrun, "--max-restarts", restarts, "-m", "dragoman", "train", *data, "--plan", *SETTINGS],
        env={**os.environ, OWN_STORE: own, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(f"{OWN_STORE}=1") == (own == "0" and restarts == "1"), done.stderr
