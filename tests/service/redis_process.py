"""A real Redis that a test can take away and give back."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from redis.backoff import ConstantBackoff
from redis.retry import Retry

from arbiter.service.rates import Rates
from arbiter.supervisor.redis import find_server, redis_client
from tests.patience import PATIENCE

_PAUSE = 0.02
"""Seconds between two looks whether a server that was started answers."""


class RedisProcess:
    """A server on a socket in ``folder``, whose path must be short."""

    def __init__(self, folder: Path) -> None:
        self._socket = folder / "redis.sock"
        self.url = f"redis+socket://{self._socket}"
        self.start()

    def start(self) -> None:
        """Start it, empty, and return when it answers."""
        options = ["--port", "0", "--unixsocket", str(self._socket), "--save", "", "--dir", str(self._socket.parent)]
        self._process = subprocess.Popen([find_server(), *options], stdout=subprocess.DEVNULL)
        tries = round(PATIENCE / _PAUSE)
        with Redis(unix_socket_path=str(self._socket), retry=Retry(ConstantBackoff(_PAUSE), tries)) as client:
            client.ping()

    def kill(self) -> None:
        """End it, from one moment to the next."""
        self._process.kill()
        self._process.wait()


@contextmanager
def redis_server(folder: Path) -> Iterator[RedisProcess]:
    """A Redis that is there while inside."""
    process = RedisProcess(folder)
    try:
        yield process
    finally:
        process.kill()


@asynccontextmanager
async def counting(folder: Path) -> AsyncIterator[tuple[Rates, AsyncRedis]]:
    """Limits of rates on a Redis of their own."""
    with redis_server(folder) as process:
        async with redis_client(process.url, PATIENCE) as client:
            yield Rates(client), client
