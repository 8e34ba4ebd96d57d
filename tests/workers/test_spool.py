"""The spool: reports are whole on the disk or not there, in order, whatever other workers do beside."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.api.worker.v1 import worker_pb2 as pb
from workers.spool import Spool


def report(sitting: str, attempt: int = 1, replay: bytes = b"replay") -> pb.ReportSittingRequest:
    return pb.ReportSittingRequest(sitting=sitting, attempt=attempt, replay=replay)


def test_reports_come_back_oldest_first_until_they_are_removed(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    reports = [report(f"cup-1a2b/{number}/0") for number in (5, 1, 3)]
    for age, each in enumerate(reports):
        path = spool.put(each.sitting, each.attempt, each)
        os.utime(path, ns=(age, age))
    assert [kept for _, kept in spool.waiting()] == reports
    assert [kept for _, kept in Spool(tmp_path / "spool").waiting()] == reports, "and outlive their worker"
    first, *_ = [path for path, _ in spool.waiting()]
    spool.remove(first)
    spool.remove(first)
    assert [kept for _, kept in spool.waiting()] == reports[1:]


def test_attempts_and_sittings_have_files_of_their_own(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    names = {("a/1/11", 1), ("a/11/1", 1), ("a/1/1", 11), ("a/1/1", 1)}
    assert len({spool.put(sitting, attempt, report(sitting, attempt)) for sitting, attempt in names}) == 4


def test_the_same_report_again_takes_the_place_of_the_first(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    for content in (b"one", b"two"):
        spool.put("a/0/0", 1, report("a/0/0", replay=content))
    assert [kept.replay for _, kept in spool.waiting()] == [b"two"]


def test_what_could_not_be_written_whole_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    spool = Spool(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            spool.put("a/0/0", 1, report("a/0/0"))
    assert list(spool.waiting()) == []
    spool.put("a/0/0", 1, report("a/0/0"))
    assert len(list(spool.waiting())) == 1


def test_a_report_that_another_worker_sent_meanwhile_is_passed_over(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    for number in range(3):
        os.utime(spool.put(f"a/{number}/0", 1, report(f"a/{number}/0")), ns=(number, number))
    (tmp_path / "gone.report").symlink_to(tmp_path / "nowhere")  # listed, and not there when it is looked at
    waiting = spool.waiting()
    assert next(waiting)[1].sitting == "a/0/0"
    (tmp_path / "a_1_0.1.report").unlink()
    assert [kept.sitting for _, kept in waiting] == ["a/2/0"]


def test_a_damaged_report_is_put_aside(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    (tmp_path / "a_0_0.1.report").write_bytes(b"\xff\xff")
    spool.put("a/1/0", 1, report("a/1/0"))
    assert [kept.sitting for _, kept in spool.waiting()] == ["a/1/0"]
    assert (tmp_path / "a_0_0.1.damaged").exists()


@given(replay=st.binary(max_size=1000), attempt=st.integers(1, 2**32 - 1))
def test_any_report_comes_back_equal(tmp_path_factory: pytest.TempPathFactory, replay: bytes, attempt: int) -> None:
    spool = Spool(tmp_path_factory.mktemp("spool"))
    kept = report("a/0/0", attempt, replay)
    spool.put("a/0/0", attempt, kept)
    assert [each for _, each in spool.waiting()] == [kept]
