"""A gate at a service, as a pipeline runs it: sends the candidate, waits for it, asks, follows, and says the verdict.
Needs the base install alone."""

from __future__ import annotations

import math
import os
import queue
import secrets
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import BinaryIO, Final, cast

from rich.console import Group
from rich.live import Live
from rich.text import Text

from arbiter.api.gate.v1 import gate_pb2 as pb
from arbiter.api.gate.v1 import gate_pb2_grpc
from arbiter.api.registry.v1 import registry_pb2
from arbiter.api.tournament.v1 import tournament_pb2
from arbiter.cli.console import errors
from arbiter.cli.dialling import Client, Server
from arbiter.cli.gate_outputs import Outputs, tell
from arbiter.cli.gate_state import gate_line, gate_picture
from arbiter.cli.registry_client import RegistryClient
from arbiter.errors import ArbiterError, InfrastructureError, UsageError
from arbiter.packages import pack

LINE_EVERY: Final = 10.0
"""Seconds between two lines where there is no terminal."""

_UNDER_WAY: Final = (tournament_pb2.TOURNAMENT_STATE_SCHEDULED, tournament_pb2.TOURNAMENT_STATE_RUNNING)

_Handler = Callable[[int, FrameType | None], object] | int | None
"""What is done about a signal, as `signal` has it."""

SETTLING: Final = 3.0
"""Seconds for which a paused gate is looked at again: a service that ends pauses what it plays for a moment."""


def gate_at_service(
    server: Server, candidate: str, order: pb.CreateGateRequest, outputs: Outputs, *, keep: bool, json: bool
) -> int:
    """Ask for a gate and follow it to its end.

    Args:
        server: the service.
        candidate: a bot's folder, which is submitted, or a submitted version.
        order: the gate, but for candidate and request id.
        outputs: where the report goes.
        keep: whether a version that was submitted for this gate stays active though it did not pass.
        json: whether standard output gets JSON.

    Returns:
        The exit status.

    Raises:
        UsageError: the service refuses what was asked for.
        InfrastructureError: it can't be had, or can't go on.
    """
    started = time.monotonic()
    sent: registry_pb2.Version | None = None
    if Path(candidate).is_dir():
        sent = _submitted(server, Path(candidate))
        if sent.state != registry_pb2.VERSION_STATE_ACTIVE:
            return tell(_refused(server, sent, order), outputs, time.monotonic() - started, json=json)
        name = f"{sent.bot}@{sent.number}"
    elif os.sep in candidate:
        raise UsageError(
            f"{candidate}: there is no such folder; give the folder of a bot, or a version such as mybot@3"
        )
    else:
        name = candidate
    order.candidate = name
    order.request_id = secrets.token_hex(16)
    status = 4
    try:
        with _Signals() as signals:
            with _GateClient(server) as client:
                gate = client.create(order)
            errors.print(f"{gate.id}: {name} against {gate.report.baseline}", markup=False, highlight=False)
            status = _followed(server, gate.id, outputs, started, signals, json=json)
        return status
    finally:
        if sent is not None and status != 0 and not keep:
            _take_back(server, sent)


def follow_gate(server: Server, gate: str, outputs: Outputs, *, json: bool) -> int:
    """Follow a gate that was asked for before; returns the exit status, and raises likewise."""
    with _Signals() as signals:
        return _followed(server, gate, outputs, time.monotonic(), signals, json=json)


class _GateClient:
    """Calls of one user; close it by leaving its ``with`` statement. Raises as `Client` does."""

    def __init__(self, server: Server) -> None:
        self._client: Final = Client(server)
        self._stub: Final = gate_pb2_grpc.GateServiceStub(self._client.channel)

    def __enter__(self) -> _GateClient:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def create(self, order: pb.CreateGateRequest) -> pb.Gate:
        return self._client.call(self._stub.CreateGate, order).gate

    def get(self, gate: str) -> pb.Gate:
        return self._client.call(self._stub.GetGate, pb.GetGateRequest(gate=gate)).gate

    def cancel(self, gate: str) -> pb.Gate:
        return self._client.call(self._stub.CancelGate, pb.CancelGateRequest(gate=gate)).gate

    def watch(self, gate: str, stop: threading.Event) -> Iterator[pb.Gate]:
        """The gate after each change, up to its end or to :meth:`end_watch`. A service that is away is waited for."""
        request = pb.WatchGateRequest(gate=gate)
        for response in self._client.follow(self._stub.WatchGate, request, reached=True, stop=stop):
            yield response.gate

    def end_watch(self, stop: threading.Event) -> None:
        """Let :meth:`watch` come to its end, from another thread."""
        self._client.end_following(stop)


def _followed(server: Server, gate: str, outputs: Outputs, started: float, signals: _Signals, *, json: bool) -> int:
    end = math.inf if outputs.time_limit is None else started + outputs.time_limit
    with _GateClient(server) as client:
        last = _watched(client, gate, end, signals)
        if last.state in _UNDER_WAY:
            last = _cancelled(client, gate, pb.GATE_REASON_STOPPED if signals.came else pb.GATE_REASON_TIME_LIMIT)
    seconds = time.monotonic() - started
    if last.state in (tournament_pb2.TOURNAMENT_STATE_PAUSED, tournament_pb2.TOURNAMENT_STATE_FAILED):
        why = last.failure or "the service stopped playing it"
        trouble = f"gate {gate}: {why}; its host can start it again, then: arbiter gate --resume {gate}"
        last.report.reason = pb.GATE_REASON_INFRASTRUCTURE
        tell(last.report, outputs, seconds, json=json, trouble=trouble)
        raise InfrastructureError(trouble)
    return tell(last.report, outputs, seconds, json=json)


def _watched(client: _GateClient, gate: str, end: float, signals: _Signals) -> pb.Gate:
    """The gate at its end, at a moment of the monotonic clock or when a signal comes; shown on the way."""
    last = client.get(gate)
    updates = queue.SimpleQueue[pb.Gate | Exception | None]()
    stop = threading.Event()

    def read() -> None:
        try:
            for seen in client.watch(gate, stop):
                updates.put(seen)
            updates.put(None)
        except Exception as error:  # noqa: BLE001  # raised again where it is read
            updates.put(error)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        with _Display() as display:
            while not signals.came and time.monotonic() < end:
                try:
                    update = updates.get(timeout=0.2)
                except queue.Empty:
                    continue
                if isinstance(update, Exception):
                    raise update
                if update is None:
                    break
                last = update
                display.show(last)
    finally:
        client.end_watch(stop)
        reader.join()
    settled = min(end, time.monotonic() + SETTLING)
    while last.state == tournament_pb2.TOURNAMENT_STATE_PAUSED and time.monotonic() < settled and not signals.came:
        time.sleep(0.25)
        last = client.get(gate)
        if last.state == tournament_pb2.TOURNAMENT_STATE_RUNNING:
            return _watched(client, gate, end, signals)
    return last


class _Display:
    """Progress on standard error: drawn on a terminal, a line now and then where there is none."""

    def __init__(self) -> None:
        self._live: Final = Live(console=errors, transient=True) if errors.is_terminal else None
        self._at = -LINE_EVERY
        self._boards = 0

    def __enter__(self) -> _Display:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, gate: pb.Gate) -> None:
        """Show how far a gate is."""
        report = gate.report
        if self._live is not None:
            self._live.update(Group(Text(gate.id, style="bold"), *gate_picture(report)))
        elif report.boards > self._boards and time.monotonic() - self._at >= LINE_EVERY:
            errors.print(gate_line(report), markup=False, highlight=False, soft_wrap=True)
            self._at, self._boards = time.monotonic(), report.boards


def _cancelled(client: _GateClient, gate: str, reason: pb.GateReason.ValueType) -> pb.Gate:
    """The gate, ended for this reason unless there was a verdict."""
    try:
        last = client.cancel(gate)
    except UsageError:  # it was over meanwhile
        last = client.get(gate)
    if last.report.verdict == pb.GATE_VERDICT_NONE and last.report.reason == pb.GATE_REASON_STOPPED:
        last.report.reason = reason
    return last


def _submitted(server: Server, folder: Path) -> registry_pb2.Version:
    """The folder as a version of its own, active or failed."""
    with tempfile.TemporaryFile() as file, RegistryClient(server) as client, errors.status("") as status:
        package = cast("BinaryIO", file)
        pack(folder, package)
        status.update("sending the candidate")
        # Each gate has a version of its own: an earlier one with the same content may have been taken back.
        version = client.submit(package, request_id=secrets.token_hex(16), message="sent by arbiter gate")
        status.update(f"{version.bot}@{version.number} is tried out")
        for seen in client.watch(version.bot, version.number):
            version = seen
    return version


def _refused(server: Server, version: registry_pb2.Version, order: pb.CreateGateRequest) -> pb.GateReport:
    """The report on a candidate that did not come to a board."""
    with RegistryClient(server) as client:
        log = client.log(version.bot, version.number)
    return pb.GateReport(
        candidate=f"{version.bot}@{version.number}",
        baseline=order.baseline,
        opponents=order.opponents,
        rules=order.rules,
        terms=order.terms,
        verdict=pb.GATE_VERDICT_FAILED,
        reason=pb.GATE_REASON_FAULTS,
        candidate_faults=[pb.GateFault(code="VALIDATION", detail=version.failure)],
        candidate_log=pb.GateLog(log=log),
    )


def _take_back(server: Server, version: registry_pb2.Version) -> None:
    """Retire a candidate that did not pass, so that ``latest`` stays what passed."""
    name = f"{version.bot}@{version.number}"
    try:
        with RegistryClient(server) as client:
            client.retire(version.bot, version.number)
    except ArbiterError as error:
        errors.print(f"warning: {name} stays active: {error}", markup=False, highlight=False, soft_wrap=True)
    else:
        errors.print(f"{name} is taken back, since it did not pass", markup=False, highlight=False)


class _Signals:
    """SIGINT and SIGTERM, noted while entered. An exception out of a handler could come in the middle of gRPC's own
    code, which then never answers again."""

    def __init__(self) -> None:
        self.came = False
        """Whether one came."""
        self._before: dict[int, _Handler] = {}

    def __enter__(self) -> _Signals:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.came = True
