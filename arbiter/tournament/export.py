"""A whole tournament in one archive: what everyone may know of it, for who wants to keep it or count again.

A ``tar.gz`` with the folder of the tournament's id in it:

- ``tournament.json``: what it is, and its entrants with the digests of their contents; where contestants entered it,
  who did and who was left out, and of a draft, which has nothing else, whom its file lists;
- ``plan.json``: its matches, each with its entrants, boards, sittings, and the commitment to its deal set;
- ``standings.json``: as ``arbiter tournament standings --json`` shows them;
- ``deals.json``: the seeds of deal sets that are over, and the tournament's once all is over;
- ``replays/MATCH-SITTING.jsonl``: the replays of sittings whose deal set is over.

The same recorded results make the same bytes.
"""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, BinaryIO

from arbiter.match import write_replay
from arbiter.store import SittingKey, Store, Tournament, TournamentState
from arbiter.tournament.drafts import left_out_of, listed_in
from arbiter.tournament.replays import published_deals, released_replay
from arbiter.tournament.report import report
from arbiter.tournament.spec import TournamentSpec


def write_export(store: Store, tournament: str, sink: BinaryIO) -> None:
    """Write the archive of a tournament as it is now; raises `UnknownTournament`."""
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=sink, mtime=0) as packed,
        tarfile.open(mode="w|", fileobj=packed, format=tarfile.PAX_FORMAT) as archive,
    ):
        for name, content in _files(store, tournament):
            member = tarfile.TarInfo(f"{tournament}/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def _files(store: Store, tournament: str) -> Iterator[tuple[str, bytes]]:
    found = store.tournament(tournament)
    spec = TournamentSpec.from_dict(found.spec)
    yield (
        "tournament.json",
        _json(
            {
                "id": found.id,
                "name": found.name,
                "state": found.state.value,
                "failure": found.failure,
                "created": found.created_at.isoformat(),
                "finished": found.finished_at and found.finished_at.isoformat(),
                "spec": spec.to_dict(),
                "entrants": [
                    {"name": entrant.name, "digest": entrant.digest, "owner": entrant.manifest.get("owner")}
                    for entrant in store.entrants(tournament)
                ],
                **_entered(store, found),
            }
        ),
    )
    if found.state is TournamentState.DRAFT:
        return
    matches, sittings = store.matches(tournament), spec.seatings.sittings(spec.rules)
    yield (
        "plan.json",
        _json(
            [
                {
                    "match": match.index,
                    "entrants": list(match.entrants),
                    "boards": match.boards,
                    "sittings": sittings,
                    "commitment": match.commitment,
                }
                for match in matches
            ]
        ),
    )
    yield "standings.json", _json(report(store, tournament).to_dict())
    yield "deals.json", _json(published_deals(store, tournament).to_dict())
    for match in matches:
        if store.deal_set_recorded(tournament, match.index):
            for sitting in range(sittings):
                key = SittingKey(tournament, match.index, sitting)
                yield f"replays/{match.index}-{sitting}.jsonl", write_replay(released_replay(store, key))


def _entered(store: Store, tournament: Tournament) -> dict[str, Any]:
    """Of a tournament that is or was a draft: its terms, and who entered it or was left out."""
    if "entry" not in tournament.spec:
        return {}
    found: dict[str, Any] = {
        "entry": tournament.spec["entry"],
        "entries": [asdict(entry) for entry in store.entries.entries(tournament.id)],
        "left_out": [asdict(each) for each in left_out_of(tournament)],
    }
    if tournament.state is TournamentState.DRAFT:
        found["listed"] = listed_in(tournament)
    return found


def _json(data: Any) -> bytes:
    return (json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode()
