"""The life of a tournament: plan, lease, record, reconcile, and what the results say.

:mod:`~arbiter.tournament.spec` is the tournament file, :mod:`~arbiter.tournament.planning` turns it into matches,
:mod:`~arbiter.tournament.desk` is what workers deal with, :mod:`~arbiter.tournament.coordinator` keeps work flowing,
and :mod:`~arbiter.tournament.report` reads the results. A gate is a tournament with a question:
:mod:`~arbiter.tournament.gate_request` is what is asked, :mod:`~arbiter.tournament.gate_planning` its plan,
and :mod:`~arbiter.tournament.gate` its verdict.
"""

from arbiter.tournament.coordinator import Coordinator, Sender
from arbiter.tournament.desk import Desk, Grant
from arbiter.tournament.details import TournamentDetails, details
from arbiter.tournament.dispatch import CelerySender
from arbiter.tournament.leading import Lead
from arbiter.tournament.outliers import WorkerReport, worker_reports
from arbiter.tournament.planning import enter, new_id, plan_tournament
from arbiter.tournament.replays import released_replay
from arbiter.tournament.report import EntrantRow, TournamentReport, report
from arbiter.tournament.spec import EntrantSpec, SpecError, TournamentSpec, load_spec, parse_spec

__all__ = [
    "CelerySender",
    "Coordinator",
    "Desk",
    "EntrantRow",
    "EntrantSpec",
    "Grant",
    "Lead",
    "Sender",
    "SpecError",
    "TournamentDetails",
    "TournamentReport",
    "TournamentSpec",
    "WorkerReport",
    "details",
    "enter",
    "load_spec",
    "new_id",
    "parse_spec",
    "plan_tournament",
    "released_replay",
    "report",
    "worker_reports",
]
