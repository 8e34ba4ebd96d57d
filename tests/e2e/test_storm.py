"""Parts of a service are killed, stopped, emptied and frozen at random; ``make storm`` does so for longer."""

from __future__ import annotations

import pytest

from tests.e2e.parts import Size
from tests.e2e.storm import weather
from tests.postgres import Postgres


@pytest.mark.timeout(900)
def test_a_short_storm_loses_nothing_and_leaves_nothing(postgres: Postgres) -> None:
    outcome = weather(Size(bots=4, seatings=8, tournaments=1), kills=12, seed=7, programs=postgres.programs)
    assert sum(outcome.done.values()) == 12
    assert len(outcome.done) == 8, "of all kinds"
    assert outcome.books.sittings >= 8
    assert outcome.books.attempts > outcome.books.sittings, "what was lost was played again"
