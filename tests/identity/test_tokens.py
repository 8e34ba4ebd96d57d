"""Tokens: known again by their digest, for as long as they are good, and for what they are good for."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.errors import UsageError
from arbiter.identity import MAX_LIFETIME, Forbidden, Unauthenticated, authenticate, issue_token, require
from arbiter.store import Accounts, AuditEntry, Scope, Store, UnknownToken

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def accounts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Accounts]:
    with Store.open(tmp_path_factory.mktemp("tokens") / "arbiter.db") as store:
        yield store.accounts


def test_a_token_is_known_again(accounts: Accounts) -> None:
    token, text = issue_token(accounts, "ada", Scope.CONTESTANT, NOW)
    assert authenticate(accounts, text, NOW) == token
    assert (token.owner, token.scope) == ("ada", Scope.CONTESTANT)


def test_no_secret_is_kept(tmp_path: Path) -> None:
    with Store.open(tmp_path / "arbiter.db") as store:
        _, text = issue_token(store.accounts, "ada", Scope.HOST, NOW)
    secret = text.split("_", 2)[2]
    assert len(secret) == 43, "256 bits"
    for file in tmp_path.iterdir():
        assert secret.encode() not in file.read_bytes()


def test_secrets_and_ids_differ(accounts: Accounts) -> None:
    texts = [issue_token(accounts, "ada", Scope.CONTESTANT, NOW)[1] for _ in range(20)]
    assert len({text.split("_", 2)[1] for text in texts}) == len({text.split("_", 2)[2] for text in texts}) == 20


def test_it_ends_at_its_time_and_when_it_is_revoked(accounts: Accounts) -> None:
    token, text = issue_token(accounts, "ada", Scope.CONTESTANT, NOW, timedelta(hours=1))
    last = NOW + timedelta(minutes=59)
    assert authenticate(accounts, text, last) == token
    with pytest.raises(Unauthenticated):
        authenticate(accounts, text, NOW + timedelta(hours=1))
    revoked = accounts.revoke_token(token.id, NOW)
    assert accounts.revoke_token(token.id, last) == revoked, "a second time changes nothing"
    with pytest.raises(Unauthenticated):
        authenticate(accounts, text, NOW)
    assert accounts.token(token.id).revoked_at == NOW


def test_one_token_s_id_with_another_s_secret_is_none(accounts: Accounts) -> None:
    first, second = (issue_token(accounts, "ada", Scope.HOST, NOW)[1] for _ in range(2))
    with pytest.raises(Unauthenticated):
        authenticate(accounts, first[:17] + second[17:], NOW)
    with pytest.raises(Unauthenticated):
        authenticate(accounts, first[:-1] + ("A" if first[-1] != "A" else "B"), NOW)


@given(st.text() | st.from_regex(r"arb_[0-9a-f]{12}_[A-Za-z0-9_-]{43}", fullmatch=True))
def test_nothing_else_is_a_token_and_all_refusals_are_one(text: str) -> None:
    with (
        Store.open(_DATABASE) as store,
        pytest.raises(Unauthenticated, match=r"^no valid token: set ARBITER_API_TOKEN"),
    ):
        authenticate(store.accounts, text, NOW)


@pytest.fixture(scope="module", autouse=True)
def _database(tmp_path_factory: pytest.TempPathFactory) -> None:
    global _DATABASE
    _DATABASE = tmp_path_factory.mktemp("empty") / "arbiter.db"


_DATABASE = Path()


GOOD_FOR = {
    Scope.HOST: set(Scope),
    Scope.CONTESTANT: {Scope.CONTESTANT, Scope.SPECTATOR},
    Scope.WORKER: {Scope.WORKER},
    Scope.SPECTATOR: {Scope.SPECTATOR},
}


@pytest.mark.parametrize("wanted", Scope)
@pytest.mark.parametrize("scope", Scope)
def test_a_scope_is_good_for_this_and_no_more(accounts: Accounts, scope: Scope, wanted: Scope) -> None:
    token, _ = issue_token(accounts, "ada", scope, NOW)
    if wanted in GOOD_FOR[scope]:
        require(token, wanted)
    else:
        with pytest.raises(Forbidden, match=f"needs a token with scope {wanted.value}; token {token.id} has scope"):
            require(token, wanted)


@pytest.mark.parametrize("owner", ["", " ", "a b", "-a", "a" * 65, "ada\n", "a/b"])
def test_a_name_that_could_be_read_amiss_is_refused(accounts: Accounts, owner: str) -> None:
    with pytest.raises(UsageError, match="write letters, digits"):
        issue_token(accounts, owner, Scope.HOST, NOW)


@pytest.mark.parametrize("lifetime", [timedelta(0), timedelta(seconds=-1), MAX_LIFETIME + timedelta(seconds=1)])
def test_no_token_lasts_for_ever_or_not_at_all(accounts: Accounts, lifetime: timedelta) -> None:
    with pytest.raises(UsageError, match="at most 3650 days"):
        issue_token(accounts, "ada", Scope.HOST, NOW, lifetime)


def test_an_unknown_token_can_not_be_revoked(accounts: Accounts) -> None:
    with pytest.raises(UnknownToken, match="there is no token 'none'; see: arbiter token list"):
        accounts.revoke_token("none", NOW)


def test_the_audit_log_has_the_newest_first(accounts: Accounts) -> None:
    entries = [AuditEntry(NOW, "abc", "ada", "bot.submit", f"mybot@{number}", "from\ta\x00test") for number in (1, 2)]
    for entry in entries:
        accounts.note(entry)
    found = accounts.audit(2)
    assert [entry.subject for entry in found] == ["mybot@2", "mybot@1"]
    assert found[0].detail == "from\ta\ufffdtest"
    assert len(accounts.audit(1)) == 1
