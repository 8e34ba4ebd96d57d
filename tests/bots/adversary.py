"""A bot that misbehaves in one way, named by its first argument; in everything else it plays the lowest legal card.

Each way is a function below. It speaks gRPC without the SDK's ``run`` where it has to send what the SDK would not.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time

import grpc

from arbiter.api.bot.v1 import bot_pb2, bot_pb2_grpc
from arbiter.sdk import Bot, Card, CardView, PassView, Session, run

METHOD = "/arbiter.api.bot.v1.BotService/Sit"


class Lowest(Bot):
    """Plays honestly, up to ``trouble`` at its seventh card."""

    decisions = 0

    def choose_pass(self, view: PassView) -> list[Card]:
        return view.hand[-view.pass_count :]

    def choose_card(self, view: CardView) -> Card:
        self.decisions += 1
        if self.decisions == 7:
            self.trouble()
        return min(view.legal, key=lambda card: card.rank)

    def trouble(self) -> None:
        """Nothing."""


def honest() -> None:
    run(Lowest())


def crash_at_start() -> None:
    raise RuntimeError("no model file")


def exit_silently() -> None:
    os._exit(0)


def never_connect() -> None:
    print("thinking about it", flush=True)
    time.sleep(3600)


def crash_at_seven() -> None:
    class Fragile(Lowest):
        def trouble(self) -> None:
            raise ValueError("seven is unlucky")

    run(Fragile())


def leave_at_seven() -> None:
    class Leaver(Lowest):
        def trouble(self) -> None:
            os._exit(0)

    run(Leaver())


def killed_at_seven() -> None:
    class Doomed(Lowest):
        def trouble(self) -> None:
            os.kill(os.getpid(), signal.SIGKILL)

    run(Doomed())


def silent_at_seven() -> None:
    class Sleeper(Lowest):
        def trouble(self) -> None:
            time.sleep(3600)

    run(Sleeper())


def burn_at_seven() -> None:
    class Burning(Lowest):
        def trouble(self) -> None:
            for _ in range(3):
                subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"])
            while True:
                pass

    run(Burning())


def burn_unseen_at_seven() -> None:
    """Children that only compute and end so that nobody waits for them: the kernel adds their time to no process."""

    class Hiding(Lowest):
        def trouble(self) -> None:
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            burn = "import time; end = time.monotonic() + 0.15\nwhile time.monotonic() < end: pass"
            while True:
                for _ in range(6):
                    os.posix_spawn(sys.executable, [sys.executable, "-S", "-c", burn], os.environ)
                time.sleep(0.1)

    run(Hiding())


def wrong_token() -> None:
    os.environ["ARBITER_TOKEN"] = "guessed"
    run(Lowest())


def ignore_signals() -> None:
    """Children that ignore every signal that can be ignored, in sessions of their own, and a bot that does as well."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    for _ in range(3):
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"], start_new_session=True)
    silent_at_seven()


def leave_children() -> None:
    """Ends well, but leaves children behind."""
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"], start_new_session=True)
    honest()


def stub(channel: grpc.aio.Channel) -> grpc.aio.StreamStreamCall[bytes, bytes]:
    """The stream, for messages of any bytes."""
    method: grpc.aio.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(
        METHOD, request_serializer=None, response_deserializer=None
    )
    return method(metadata=(("authorization", f"Bearer {os.environ['ARBITER_TOKEN']}"),), wait_for_ready=True)


def greeting(tables: int = 8) -> bytes:
    return bot_pb2.SitRequest(greeting=bot_pb2.Greeting(max_open_tables=tables)).SerializeToString()


async def raw(*messages: bytes, first: bytes | None = None, then: str = "stay") -> None:
    """Greet, wait for the first batch, send these messages, and stay or close the stream while the process stays."""
    async with grpc.aio.insecure_channel(os.environ["ARBITER_ADDRESS"]) as channel:
        call = stub(channel)
        await call.write(greeting() if first is None else first)
        await call.read()
        try:
            for message in messages:
                await call.write(message)
            if then == "close":
                await call.done_writing()
            await asyncio.sleep(3600)
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            await asyncio.sleep(3600)  # stays, so that it is no crash


def close_and_stay() -> None:
    asyncio.run(raw(then="close"))


def garbage() -> None:
    asyncio.run(raw(b"\xff\xff\xff"))


def no_greeting() -> None:
    asyncio.run(raw(first=b""))


def no_tables() -> None:
    asyncio.run(raw(first=greeting(0)))


def garbage_greeting() -> None:
    asyncio.run(raw(first=b"\xff\xff\xff"))


def huge_message() -> None:
    asyncio.run(raw(bytes(100 * 1024 * 1024)))


def tiny_messages() -> None:
    asyncio.run(raw(*[b""] * 1_000_000))


def stale_answers() -> None:
    """Answers without end to requests that it was not sent."""
    message = bot_pb2.SitRequest(plays=bot_pb2.PlayAnswers(request_id=[1] * 100_000, card=[0] * 100_000))
    asyncio.run(raw(*[message.SerializeToString()] * 1000))


async def _deaf() -> None:
    async with grpc.aio.insecure_channel(os.environ["ARBITER_ADDRESS"]) as channel:
        call = stub(channel)
        await call.write(greeting())
        await asyncio.sleep(3600)


def never_read() -> None:
    asyncio.run(_deaf())


async def _twice() -> None:
    """Opens a second stream with the same token, reports how that went, and plays on over the first."""
    session = Session(Lowest())
    metadata = (("authorization", f"Bearer {os.environ['ARBITER_TOKEN']}"),)
    async with grpc.aio.insecure_channel(os.environ["ARBITER_ADDRESS"]) as channel:
        service = bot_pb2_grpc.BotServiceStub(channel)
        call = service.Sit(metadata=metadata, wait_for_ready=True)
        await call.write(session.greeting())
        batch = await call.read()
        second = service.Sit(metadata=metadata)
        print("second stream:", (await second.code()).name, flush=True)
        while isinstance(batch, bot_pb2.SitResponse):
            for answers in session.handle(batch):
                await call.write(answers)
            if session.ended:
                break
            batch = await call.read()
        await call.done_writing()


def connect_twice() -> None:
    asyncio.run(_twice())


if __name__ == "__main__":
    globals()[sys.argv[1]]()
