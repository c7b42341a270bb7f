"""The ranks of one machine connect by its loopback interface: no other machine can reach their gradients."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import json, os, sys
from pathlib import Path
import torch
from dragoman.training.parallel import connect, disconnect

def listening():
    fds = Path("/proc/self/fd")
    mine = {os.readlink(fd) for fd in fds.iterdir() if fd.exists()}
    lines = [line for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").open()]
    rows = [line.split() for line in lines]
    return {row[1].partition(":")[0] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in mine}

before = listening()
ranks = connect(torch.device("cpu"), timeout=60.0, again="")
found = [os.environ["GLOO_SOCKET_IFNAME"], *sorted(listening() - before)]
(Path(sys.argv[1]) / f"rank{ranks.rank}.json").write_text(json.dumps(found))
disconnect()
"""


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="only Linux lists sockets here")
def test_gradients_are_not_offered_to_other_machines(tmp_path: Path) -> None:
    script = tmp_path / "ranks.py"
    script.write_text(PROGRAM, encoding="utf-8")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run(
        [*torchrun, str(script), str(tmp_path)], capture_output=True, text=True, check=False, timeout=200
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads((tmp_path / f"rank{rank}.json").read_text()) for rank in range(2)]
    assert found == [["lo", "0100007F"]] * 2  # 127.0.0.1, which may be the default of a machine, too
