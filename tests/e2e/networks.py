"""Hosts of their own on one machine: network namespaces, each worker's tied to the service's by one link."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_PROGRAMS: Final = ("ip", "tc", "nsenter")


def why_not() -> str:
    """What this machine lacks for it; empty when nothing."""
    lacking = [program for program in _PROGRAMS if shutil.which(program) is None]
    if lacking:
        return f"{lacking[0]} is not installed; apt install iproute2"
    if os.geteuid() != 0:
        return "network namespaces are root's to make"
    name = f"try{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        return f"no network namespace can be made: {made.stderr.strip()}"
    _ip("netns", "delete", name)
    return ""


class Network:
    """The service on one host, at an address that only its workers' hosts have a way to; each of these by one link."""

    address = "10.231.0.1"

    def __init__(self, workers: int) -> None:
        self._name: Final = f"arb{os.getpid()}"
        self._service: Final = f"{self._name}-0"
        self._workers: Final = range(1, workers + 1)

    def inside(self, part: str) -> list[str]:
        """Workers run on their hosts, everything else on the service's."""
        name, _, number = part.partition("-")
        return ["nsenter", f"--net=/run/netns/{self._host(int(number)) if name == 'worker' else self._service}", "--"]

    def cut(self, worker: int) -> None:
        """Nothing passes between a worker and the service any more; nobody is told."""
        _ip("-n", self._host(worker), "link", "set", "up0", "down")

    def heal(self, worker: int) -> None:
        """All as it was."""
        _ip("-n", self._host(worker), "link", "set", "up0", "up")
        self._show_the_way(worker)

    def slow(self, worker: int, kilobits: int) -> None:
        """So much a second passes in each direction."""
        limit = ("root", "tbf", "rate", f"{kilobits}kbit", "burst", "16kb", "latency", "2s")
        for host, device in ((self._host(worker), "up0"), (self._service, f"down{worker}")):
            subprocess.run(["tc", "-n", host, "qdisc", "add", "dev", device, *limit], check=True)

    def make(self) -> None:
        """Make hosts and links."""
        _ip("netns", "add", self._service)
        _ip("-n", self._service, "link", "set", "lo", "up")
        _ip("-n", self._service, "address", "add", f"{self.address}/32", "dev", "lo")
        for worker in self._workers:
            host, down = self._host(worker), f"down{worker}"
            _ip("netns", "add", host)
            _ip("-n", host, "link", "set", "lo", "up")
            _ip("-n", self._service, "link", "add", down, "type", "veth", "peer", "name", "up0", "netns", host)
            _ip("-n", self._service, "address", "add", f"10.231.{worker}.1/30", "dev", down)
            _ip("-n", host, "address", "add", f"10.231.{worker}.2/30", "dev", "up0")
            _ip("-n", self._service, "link", "set", down, "up")
            _ip("-n", host, "link", "set", "up0", "up")
            self._show_the_way(worker)

    def remove(self) -> None:
        """Remove all of it, made or half made."""
        for number in (0, *self._workers):
            subprocess.run(["ip", "netns", "delete", self._host(number)], capture_output=True, check=False)

    def _host(self, worker: int) -> str:
        return f"{self._name}-{worker}"

    def _show_the_way(self, worker: int) -> None:
        _ip("-n", self._host(worker), "route", "replace", self.address, "via", f"10.231.{worker}.1")


@contextmanager
def network(workers: int) -> Iterator[Network]:
    """Hosts and links, gone afterwards."""
    found = Network(workers)
    try:
        found.make()
        yield found
    finally:
        found.remove()


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)
