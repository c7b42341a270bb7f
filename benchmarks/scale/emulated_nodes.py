"""Machines that are not there: network namespaces of Linux on one switch, each with a link of its own.

Processes of different nodes reach each other through these links only, and a link can be slow or cut. All
nodes share the disk and the cores of this machine. Needs root and `ip`; a rate needs `tc`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

LINK = "e0"  # the name of a node's interface


class Node(NamedTuple):
    name: str  # of the namespace
    address: str

    def command(self, *arguments: str) -> list[str]:
        return ["ip", "netns", "exec", self.name, *arguments]

    def environment(self) -> dict[str, str]:
        """What a machine knows by its host name: its address for torchrun, its interface for gloo."""
        return {**os.environ, "PET_LOCAL_ADDR": self.address, "GLOO_SOCKET_IFNAME": LINK}

    def link(self, state: str) -> None:
        """Cut the link ("down") or mend it ("up")."""
        ip("-n", self.name, "link", "set", LINK, state)


def why_not() -> str:
    """The reason why there can be no nodes here, or ""."""
    if shutil.which("ip") is None:
        return "network namespaces need Linux and the command ip (iproute2)"
    name = f"dragoman-{os.getpid()}-try"
    tried = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if tried.returncode == 0:
        ip("netns", "del", name)
    return f"network namespaces need root: {tried.stderr.strip()}" if tried.returncode else ""


@contextmanager
def emulated_nodes(count: int, rate: str | None = None) -> Iterator[list[Node]]:
    """So many nodes; `rate` is that of each link, as `tc` writes it: 1gbit."""
    start = f"dragoman-{os.getpid()}"
    switch = f"{start}-switch"
    nodes = [Node(f"{start}-{n}", f"10.78.0.{n}") for n in range(1, count + 1)]
    try:
        ip("netns", "add", switch)
        ip("-n", switch, "link", "add", "br0", "type", "bridge")
        ip("-n", switch, "link", "set", "br0", "up")
        for number, node in enumerate(nodes):
            plug_in(node, switch, f"port{number}")
            if rate:
                shape = ["root", "tbf", "rate", rate, "burst", "256kb", "latency", "50ms"]
                subprocess.run(node.command("tc", "qdisc", "add", "dev", LINK, *shape), check=True)
        yield nodes
    finally:
        for name in (*(node.name for node in nodes), switch):
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def plug_in(node: Node, switch: str, port: str) -> None:
    ip("netns", "add", node.name)
    ip("link", "add", LINK, "netns", node.name, "type", "veth", "peer", "name", port, "netns", switch)
    ip("-n", node.name, "addr", "add", f"{node.address}/24", "dev", LINK)
    for name, interface in ((node.name, "lo"), (node.name, LINK), (switch, port)):
        ip("-n", name, "link", "set", interface, "up")
    ip("-n", switch, "link", "set", port, "master", "br0")


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)
