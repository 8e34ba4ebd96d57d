"""Measure how many submissions a service takes, and how long a version takes from there to its first match.

A service on this machine is called over TLS by several contestants at once, each sending versions of one bot, of a few
bytes and of megabytes that do not compress. Then the versions are tried out one after the other, as the service does.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import os
import platform
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from arbiter.cage import CageSettings, choose_cage
from arbiter.cli.dialling import Server
from arbiter.cli.registry_client import RegistryClient
from arbiter.engine import rule_set
from arbiter.identity import issue_token
from arbiter.packages import Builder, FileVersions, pack
from arbiter.registry.life import Life
from arbiter.registry.registry import Registry
from arbiter.registry.validation import Validator
from arbiter.service import tls
from arbiter.service.gate_service import GateServicer
from arbiter.service.heavy import HeavyWork
from arbiter.service.ladder_service import LadderServicer
from arbiter.service.public import PublicServer
from arbiter.service.registry_service import RegistryServicer
from arbiter.service.tournament_service import TournamentServicer
from arbiter.store import Quota, Scope, Store
from arbiter.tournament.gate_hosting import GateHosting
from arbiter.tournament.hosting import Hosting
from arbiter.tournament.ladder_hosting import LadderHosting

BOT = Path(__file__).resolve().parent.parent / "sample_bots" / "lowest"
PLENTY = Quota(1 << 30, 1 << 50, 1 << 30, 1 << 30)


@contextmanager
def serving(folder: Path) -> Iterator[tuple[Store, Server, Life]]:
    """A service on an event loop in a thread of its own, and whom to call there as a host."""
    with ExitStack() as stack:
        store = stack.enter_context(Store.open(folder / "arbiter.db"))
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever)
        thread.start()
        stack.callback(loop.close)
        stack.callback(thread.join)
        stack.callback(loop.call_soon_threadsafe, loop.stop)
        certificate, key = tls.self_signed(folder / "tls", ["127.0.0.1"])
        contents = FileVersions(folder / "bots")
        settings = CageSettings.from_environment()
        cage = choose_cage(False, [folder], settings)
        builder = Builder(contents, folder / "staging", settings)
        validator = Validator(cage, {"black_lady": rule_set("black_lady")})
        life = Life(store, contents, builder, validator, settings.runtimes, PLENTY)

        async def start() -> PublicServer:
            heavy = HeavyWork()
            stack.callback(lambda: asyncio.run_coroutine_threadsafe(heavy.__aexit__(), loop).result())
            server = PublicServer(
                RegistryServicer(store, Registry(store, contents, folder / "registry", PLENTY), lambda: None, heavy),
                TournamentServicer(store, Hosting(store, contents), lambda: None, heavy),
                GateServicer(store, GateHosting(store, contents), lambda: None, heavy),
                LadderServicer(store, LadderHosting(store, contents), lambda: None, heavy),
                store.accounts,
                "127.0.0.1:0",
                tls.load_credentials(certificate, key),
            )
            return await server.__aenter__()

        server = asyncio.run_coroutine_threadsafe(start(), loop).result()
        ended = server.__aexit__
        stack.callback(lambda: asyncio.run_coroutine_threadsafe(ended(None, None, None), loop).result())
        _, text = issue_token(store.accounts, "host", Scope.HOST, datetime.now(UTC))
        yield store, Server(server.address, text, certificate), life


def packages(size: int, count: int) -> list[io.BytesIO]:
    """So many versions of a bot, each with so many bytes more that do not compress."""
    made: list[io.BytesIO] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "bot")
        shutil.copytree(BOT, folder, ignore=shutil.ignore_patterns("__pycache__"))
        for _ in range(count):
            (folder / "model.bin").write_bytes(os.urandom(size))
            made.append(io.BytesIO())
            pack(folder, made[-1])
    return made


def submit_all(server: Server, sent: Sequence[io.BytesIO], callers: int) -> float:
    """Submissions per second of so many callers at once."""

    def submit(part: Sequence[io.BytesIO]) -> None:
        with RegistryClient(server) as client:
            for package in part:
                client.submit(package, request_id=os.urandom(8).hex())

    with ThreadPoolExecutor(callers) as pool:
        began = time.perf_counter()
        list(pool.map(submit, [sent[first::callers] for first in range(callers)]))
        return len(sent) / (time.perf_counter() - began)


def try_out(store: Store, life: Life, count: int) -> list[float]:
    """Seconds from received to active, of so many versions, one after the other."""
    seconds: list[float] = []
    for version in store.versions.unfinished()[:count]:
        began = time.perf_counter()
        asyncio.run(life.finish(version))
        seconds.append(time.perf_counter() - began)
    return seconds


def main() -> int:
    """Measure and print; ``--json`` prints all repetitions."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.submissions", description="Measure submissions.")
    parser.add_argument("--repetitions", type=int, default=5, help="of each (default 5)")
    parser.add_argument("--callers", type=int, default=4, help="contestants at once (default 4)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    rates: dict[str, list[float]] = {"1 KiB": [], "8 MiB": []}
    seconds: list[float] = []
    for repetition in range(options.repetitions):
        print(f"repetition {repetition + 1} of {options.repetitions}", file=sys.stderr)
        with tempfile.TemporaryDirectory(prefix="arbiter-sub-") as name:
            folder = Path(name)
            folder.chmod(0o755)
            with serving(folder) as (store, server, life):
                rates["8 MiB"].append(submit_all(server, packages(8 << 20, 2 * options.callers), options.callers))
                rates["1 KiB"].append(submit_all(server, packages(1 << 10, 16 * options.callers), options.callers))
                seconds += try_out(store, life, 3)
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, {platform.system()}"
    if options.json:
        print(json.dumps({"machine": machine, "per_second": rates, "seconds_to_active": seconds}, indent=2))
        return 0
    print(f"Submissions ({machine}, {options.callers} callers)")
    for size, found in rates.items():
        print(f"  per second, {size}: median {statistics.median(found):.1f}, {min(found):.1f} to {max(found):.1f}")
    print(f"  seconds to active: median {statistics.median(seconds):.1f}, {min(seconds):.1f} to {max(seconds):.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
