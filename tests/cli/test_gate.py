"""What a gate refuses, and its report in words, Markdown and XML, whatever bots are called and write."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from arbiter.api.gate.v1 import gate_pb2 as pb
from arbiter.cli import gate_text
from arbiter.cli.gate_outputs import Outputs, tell
from arbiter.cli.gate_text import to_dict
from arbiter.cli.ranking_text import probability
from arbiter.service.gate_messages import report_message
from arbiter.service.gate_service import order_of
from arbiter.store import Fault, SittingKey, Store, TournamentState
from arbiter.tournament.gate import GateReport, Reason, Verdict
from arbiter.tournament.gate_request import GateRequest, gate_spec
from arbiter.tournament.gate_terms import Form, GateTerms, Mode, Unit
from arbiter.tournament.replays import BotReport
from arbiter.verdict import Hypotheses, Scale, estimate
from tests.cli.conftest import Call
from tests.e2e.support import BOTS, Place
from tests.tournament.gates import GATE, create, make_bots, record, request_of, worse
from tests.tournament.support import START


def headline(report: GateReport) -> str:
    return gate_text.headline(report_message(report))


def plain_text(report: GateReport) -> str:
    return gate_text.plain_text(report_message(report))


def markdown(report: GateReport, trouble: str | None = None) -> str:
    return gate_text.markdown(report_message(report), trouble)


def junit(report: GateReport, seconds: float, trouble: str | None = None) -> str:
    return gate_text.junit(report_message(report), seconds, trouble)


TERMS = GateTerms(Mode.SUPERIORITY, Form.SPRT, Unit.BOARD, Hypotheses(0.0, 0.5), 1)
PASSED = GateReport(
    gate="gate-1a2b",
    candidate="new",
    baseline="old",
    opponents=("x", "y", "z"),
    rules="black_lady",
    terms=TERMS,
    verdict=Verdict.PASSED,
    reason=Reason.BOUND,
    blocks=2,
    most_blocks=50,
    boards=48,
    hands=384,
    for_delta1=Scale(3.5, 2.9444),
    for_delta0=Scale(-3.5, 2.9444),
    plain=estimate([1.0, 2.0, 3.0]),
    sequence=(-0.25, 4.0),
    candidate_points=5.0,
    baseline_points=7.0,
    candidate_faults=(),
    candidate_log=None,
    other_faults={},
    alarms=0,
)
FAILED = replace(
    PASSED, verdict=Verdict.FAILED, for_delta1=PASSED.for_delta0, for_delta0=PASSED.for_delta1, plain=estimate([-1, -2])
)
STOPPED = replace(PASSED, verdict=Verdict.NONE, reason=Reason.STOPPED, for_delta1=Scale(1.0, 2.9444))
EMPTY = replace(
    STOPPED,
    blocks=0,
    boards=0,
    hands=0,
    plain=estimate([]),
    candidate_points=None,
    baseline_points=None,
    sequence=(-26.0, 26.0),
)
EVIL = "\x1b[31m``` </system-err> ]]> & | \x00\ufffe\nlast ````"
FAULT = Fault(0, 3, 1, 2, 4, "CRASH", "exit | status\n1")
FAULTS = replace(
    FAILED,
    reason=Reason.FAULTS,
    candidate_faults=tuple((SittingKey("gate-1a2b", 0, number), FAULT) for number in range(12)),
    candidate_log=BotReport(0, "new", "exit status 1", EVIL, (FAULT,)),
    other_faults={"y": 2},
    alarms=1,
)


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (PASSED, "passed: new is better than old"),
        (FAILED, "failed: new is not better than old"),
        (replace(PASSED, terms=replace(TERMS, mode=Mode.NONINFERIORITY)), "passed: new is not worse than old"),
        (replace(FAILED, terms=replace(TERMS, mode=Mode.NONINFERIORITY)), "failed: new is worse than old"),
        (FAULTS, "failed: new committed 12 faults"),
        (STOPPED, "no verdict: it was stopped before the test had an answer"),
        (STOPPED.stopped(Reason.TIME_LIMIT), "no verdict: its time was over before the test had an answer"),
    ],
)
def test_the_verdict_in_one_sentence(report: GateReport, expected: str) -> None:
    assert headline(report) == expected
    assert plain_text(report).splitlines()[0] == expected
    assert markdown(report).startswith(f"### {expected}\n")


@pytest.mark.parametrize("report", [PASSED, FAILED, STOPPED, FAULTS])
def test_the_plain_estimate_stands_beside_every_verdict(report: GateReport) -> None:
    # https://github.com/official-stockfish/fishtest/issues/1924
    assert report.plain.mean is not None
    assert report.plain.interval is not None
    low, high = report.plain.interval
    for text in (plain_text(report), markdown(report), junit(report, 1.0)):
        assert f"{report.plain.mean:+.3f} points per hand" in text
        assert f"{low:+.2f} to {high:+.2f}" in text
        assert "-0.25 to +4.00" in text
        assert probability(report.plain.superiority) in text
    evidence = report.for_delta1.evidence
    assert f"LLR {evidence:+.2f}, limits -2.94 and 2.94" in plain_text(report)


@pytest.mark.parametrize(("report", "status"), [(PASSED, 0), (FAILED, 1), (FAULTS, 1), (STOPPED, 3), (EMPTY, 3)])
def test_each_verdict_has_its_exit_status(
    report: GateReport, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary"))
    assert tell(report_message(report), Outputs(None, None, None), 1.0) == status
    tell(report_message(report), Outputs(None, None, None), 1.0)
    assert (tmp_path / "summary").read_text() == 2 * markdown(report), "what earlier steps have written stays"


def test_betting_shows_both_gamblers() -> None:
    text = plain_text(replace(PASSED, terms=replace(TERMS, form=Form.BETTING)))
    assert "log-wealth against delta0 +3.50 of 2.94, against delta1 -3.50 of 2.94" in text


@pytest.mark.parametrize(
    ("report", "trouble", "failures", "errors", "skipped"),
    [
        (PASSED, None, 0, 0, 0),
        (FAILED, None, 1, 0, 0),
        (STOPPED, None, 0, 0, 1),
        (EMPTY, None, 0, 0, 1),
        (FAULTS, None, 1, 0, 1),
        (EMPTY.stopped(Reason.INFRASTRUCTURE), "the disk is full", 0, 1, 0),
    ],
)
def test_xml_is_well_formed_and_counts_right(
    report: GateReport, trouble: str | None, failures: int, errors: int, skipped: int
) -> None:
    root = ElementTree.fromstring(junit(report, 12.34, trouble))
    (suite,) = root
    for element in (root, suite):
        counts = {name: int(element.get(name, "-1")) for name in ("tests", "failures", "errors", "skipped")}
        assert counts == {"tests": 2, "failures": failures, "errors": errors, "skipped": skipped}
    cases = list(suite)
    assert [case.tag for case in cases] == ["testcase", "testcase"]
    for tag, count in (("failure", failures), ("error", errors), ("skipped", skipped)):
        found = [element for case in cases for element in case.findall(tag)]
        assert len(found) == count
        assert all(element.get("message") and element.text for element in found)
    for shown, tag in ((FAILED, "failure"), (STOPPED, "skipped")):
        if report is shown:
            (message,) = (element.get("message", "") for element in suite.iter(tag))
            assert f"improvement {report.plain.mean:+.2f} points per hand" in message


def test_what_a_bot_writes_breaks_no_form() -> None:
    root = ElementTree.fromstring(junit(FAULTS, 1.0))
    log = root.findtext(".//system-err") or ""
    assert "</system-err> ]]> & |" in log
    assert log.endswith("last ````")
    ElementTree.fromstring(junit(EMPTY, 1.0, EVIL))
    text = markdown(FAULTS)
    assert "`````\n" in text, "a fence that the log can't end"
    assert all(letter == "\n" or letter.isprintable() for letter in text + plain_text(FAULTS))
    assert "... and 2 more" in text
    assert "exit | status 1" in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert all(line.replace("\\|", "").count("|") == 3 for line in rows)
    renamed = replace(PASSED, candidate="a_b", opponents=("*x*", "<y>"))
    assert "a\\_b" in markdown(renamed)
    assert "\\*x\\*, \\<y\\>" in markdown(renamed)


def test_before_the_first_block_faris_nothing_to_say() -> None:
    assert "none: no block is complete" in plain_text(EMPTY)
    assert "-26.00 to +26.00" in markdown(EMPTY)
    assert "the disk is full" in markdown(EMPTY, "the disk is full")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "a gate needs a bot and what it is compared with: arbiter gate BOT --against BOT"),
        (("careful",), "a gate needs a bot and what it is compared with"),
        (
            ("nobody", "--against", "careful"),
            "neither a bot's folder nor a sample bot; those are batch, careful,",
        ),
        (("careful", "--against", "../careful"), "../careful: neither a bot's folder nor a sample bot"),
        (("careful", "--against", "lowest", "--opponents", "nobody"), "nobody: neither a bot's folder"),
        (("careful", "--against", "lowest", "--rules", "blak_lady"), "blak_lady"),
        (("careful", "--against", "lowest", "--alpha", "0.7"), "alpha is 0.7; it has to be above 0 and below 0.5"),
        (("careful", "--against", "lowest", "--delta0", "1"), "delta0 has to be below delta1"),
        (("careful", "--against", "lowest", "--max-boards", "23"), "too few for one block, which has 24"),
        (("careful", "--against", "lowest", "--seatings", "sometimes"), "match.seatings: is 'sometimes'"),
        (("careful", "--against", "lowest", "--deal-seed", "12"), "deal_seed: is '12'; write 64 hexadecimal digits"),
        (("--resume", "gate-0000"), "no tournament's id begins with 'gate-0000'"),
        (("careful", "--resume", "gate-0000"), "the gate knows its bots; leave BOT and --against out"),
    ],
)
def test_mistakes_are_named_in_one_line(call: Call, place: Place, arguments: tuple[str, ...], message: str) -> None:
    outcome = call("gate", *arguments, "--data-dir", place.data)
    assert (outcome.status, outcome.output) == (2, "")
    assert message in outcome.errors
    assert outcome.errors.count("\n") == 1
    assert call("tournament", "list", "--data-dir", place.data, "--json").output == "[]\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("opponents = [", "can't be read as TOML"),
        ("opponents = []", "has to hold a list 'opponents' and nothing else"),
        ("opponents = [1]", "has to hold a list 'opponents' and nothing else"),
        ('opponents = ["careful"]\nname = "x"', "has to hold a list 'opponents' and nothing else"),
        ('opponents = ["careful", "nobody"]', "nobody: neither a bot's folder"),
    ],
)
def test_a_wrong_list_of_opponents_is_named(call: Call, place: Place, tmp_path: Path, text: str, message: str) -> None:
    listed = tmp_path / "field.toml"
    listed.write_text(text)
    outcome = call("gate", BOTS / "slow", "--against", "careful", "--opponents", listed, "--data-dir", place.data)
    assert outcome.status == 2
    assert message in outcome.errors


def test_opponents_may_be_listed_from_where_the_list_is(tmp_path: Path) -> None:
    from arbiter.cli.gate import opponents_named

    (tmp_path / "mine").mkdir()
    listed = tmp_path / "field.toml"
    listed.write_text('opponents = ["mine", "careful"]')
    assert opponents_named([str(listed), "lowest"]) == [str(tmp_path / "mine"), "careful", "lowest"]


def test_a_gate_that_is_over_is_shown_again_with_its_status(call: Call, tmp_path: Path) -> None:
    spec = gate_spec(request_of(make_bots(tmp_path, "new", "old", "x", "y", "z"), boards=12))
    with Store.open(tmp_path / "arbiter.db") as store:
        judge = create(store, spec, 3)
        record(store, store.planned(GATE), worse)
        expected = judge.report()
        store.set_state(GATE, TournamentState.COMPLETED, now=START)
    outcome = call("gate", "--resume", GATE[:6], "--data-dir", tmp_path)
    assert (outcome.status, outcome.errors) == (1, "")
    assert outcome.output == plain_text(expected) + "\n"
    shown = call("gate", "--resume", GATE, "--data-dir", tmp_path, "--json")
    assert (shown.status, json.loads(shown.output)) == (1, to_dict(report_message(expected)))
    assert call("tournament", "standings", GATE, "--data-dir", tmp_path).status == 0


@pytest.mark.parametrize(
    ("state", "command", "message"),
    [
        (TournamentState.PAUSED, ("tournament", "resume"), f"{GATE} is a gate; go on with: "),
        (TournamentState.CANCELLED, ("gate", "--resume"), f"gate {GATE} is cancelled; start another one"),
    ],
)
def test_a_gate_is_gone_on_with_by_its_own_command(
    call: Call, tmp_path: Path, state: TournamentState, command: tuple[str, ...], message: str
) -> None:
    spec = gate_spec(request_of(make_bots(tmp_path, "new", "old", "x", "y", "z")))
    with Store.open(tmp_path / "arbiter.db") as store:
        create(store, spec, 1)
        store.set_state(GATE, state, now=START)
    outcome = call(*command, GATE, "--data-dir", tmp_path)
    assert (outcome.status, outcome.output) == (2, "")
    assert message in outcome.errors


def test_a_report_is_plain_data() -> None:
    found = json.loads(json.dumps(to_dict(report_message(FAULTS))))
    assert found == to_dict(report_message(FAULTS))
    expected = {"gate": GATE, "candidate": "new", "baseline": "old", "verdict": "failed", "reason": "faults"}
    assert expected.items() <= found.items()
    assert (found["mode"], found["form"], found["unit"]) == ("superiority", "sprt", "board")
    assert (found["blocks"], found["boards"], found["improvement"]) == (2, 48, -1.5)
    assert FAULTS.plain.interval is not None
    assert (found["interval_95"], found["standard_error"]) == (list(FAULTS.plain.interval), FAULTS.plain.standard_error)
    assert found["confidence_sequence_95"] == list(FAULTS.sequence)
    assert found["candidate_faults"][0] == {
        "sitting": "gate-1a2b/0/0",
        "code": "CRASH",
        "board": 3,
        "hand": 1,
        "trick": 4,
        "detail": "exit | status\n1",
    }
    assert found["candidate_log"] == {"ending": "exit status 1", "log": EVIL}
    assert found["other_faults"] == {"y": 2}
    empty = to_dict(report_message(EMPTY.stopped(Reason.TIME_LIMIT)))
    assert (empty["reason"], empty["improvement"], empty["interval_95"], empty["candidate_log"]) == (
        "time limit",
        None,
        None,
        None,
    )


def test_a_log_is_for_those_who_may_see_it() -> None:
    assert report_message(FAULTS).HasField("candidate_log")
    assert not report_message(FAULTS, with_log=False).HasField("candidate_log")


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    """A data folder with a gate of one block of twelve boards that was stopped."""
    spec = gate_spec(request_of(make_bots(tmp_path, "new", "old", "x", "y", "z"), boards=12))
    with Store.open(tmp_path / "arbiter.db") as store:
        create(store, spec, 1)
        store.set_state(GATE, TournamentState.PAUSED, now=START)
    return tmp_path


def test_fewer_boards_than_are_planned_are_refused(call: Call, stopped: Path) -> None:
    outcome = call("gate", "--resume", GATE, "--max-boards", "11", "--data-dir", stopped)
    assert outcome.status == 2
    assert "--max-boards 11: 12 boards are planned already; leave it out, or give more" in outcome.errors


def test_a_gate_that_is_over_gets_no_more_boards(call: Call, stopped: Path) -> None:
    with Store.open(stopped / "arbiter.db") as store:
        store.set_state(GATE, TournamentState.RUNNING, now=START)
        record(store, store.planned(GATE), worse)
        store.set_state(GATE, TournamentState.COMPLETED, now=START)
    assert call("gate", "--resume", GATE, "--max-boards", "12", "--data-dir", stopped).status in (1, 3)
    outcome = call("gate", "--resume", GATE, "--max-boards", "24", "--data-dir", stopped)
    assert outcome.status == 2
    assert f"--max-boards 24: gate {GATE} is over; start another one" in outcome.errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("mine", "--against", "./old"), "./old: is a folder; a service knows submitted versions"),
        (("./nothing", "--against", "mine@1"), "./nothing: there is no such folder"),
        (("mine@1", "--against", "mine@latest", "--deal-seed", "12"), "--deal-seed: a service draws its own"),
    ],
)
def test_mistakes_at_a_service_are_named_before_it_is_called(
    call: Call, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    token = tmp_path / "token"
    token.write_text("arb_x\n")
    outcome = call("gate", *arguments, "--server", "unix:/nowhere.sock", "--token-file", token)
    assert (outcome.status, outcome.output) == (2, "")
    assert message in outcome.errors


def test_what_is_asked_for_is_what_is_played_here_and_at_a_service(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each option to its own place: figures that are exchanged turn a verdict, and nothing else tells."""
    asked: list[GateRequest | pb.CreateGateRequest] = []

    def here(request: GateRequest, max_boards: int, *_: object) -> int:
        asked.append(request)
        return max_boards

    def there(_: object, candidate: str, order: pb.CreateGateRequest, *__: object, **___: object) -> int:
        asked.append(order)
        return order.max_boards

    monkeypatch.setattr("arbiter.cli.gate_run.start_gate", here)
    monkeypatch.setattr("arbiter.cli.gate.gate_at_service", there)
    token = tmp_path / "token"
    token.write_text("arb_x\n")
    rates = ("--alpha", "0.01", "--beta", "0.2", "--delta0", "-0.25", "--delta1", "0.75")
    kind = ("--mode", "noninferiority", "--test", "betting", "--unit", "block")
    size = ("--max-boards", "96", "--block-boards", "12", "--seatings", "2", "--rules", "omnibus")
    options = ("careful", "--against", "lowest", *rates, *kind, *size)
    assert call("gate", *options, "--data-dir", tmp_path / "data").status == 96
    assert call("gate", *options, "--server", "unix:/nowhere.sock", "--token-file", token).status == 96
    mine, order = asked
    assert isinstance(mine, GateRequest)
    assert isinstance(order, pb.CreateGateRequest)
    assert (mine.alpha, mine.beta, mine.delta0, mine.delta1) == (0.01, 0.2, -0.25, 0.75)
    assert (mine.mode, mine.form, mine.unit) == (Mode.NONINFERIORITY, Form.BETTING, Unit.BLOCK)
    assert (mine.rules, mine.match) == ({"name": "omnibus"}, {"format": "hands", "boards": 12, "seatings": 2})
    assert (mine.candidate.folder.name, mine.baseline.folder.name) == ("careful", "lowest")
    far = order_of(order)
    assert (far.alpha, far.beta, far.delta0, far.delta1) == (0.01, 0.2, -0.25, 0.75)
    assert (far.mode, far.form, far.unit) == (Mode.NONINFERIORITY, Form.BETTING, Unit.BLOCK)
    assert (far.rules, far.match, far.baseline) == ("omnibus", mine.match, "lowest")
