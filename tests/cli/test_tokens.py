"""``arbiter token``: who may call a service, and what was done."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Call


def test_tokens_are_made_listed_and_taken_back_and_all_of_it_is_written_down(call: Call, tmp_path: Path) -> None:
    data = ("--data-dir", tmp_path)
    assert call("token", "list", *data).errors == "no tokens yet; make one with: arbiter token create OWNER\n"
    assert call("token", "audit", *data).errors == "nothing was done yet\n"
    ada = json.loads(call("token", "create", "ada", "--json", *data).output)
    bob = json.loads(call("token", "create", "bob", "--scope", "spectator", "--json", *data).output)
    assert call("token", "revoke", ada["id"], *data).errors == f"token {ada['id']} of ada is revoked\n"
    listed = json.loads(call("token", "list", "--json", *data).output)
    assert [(row["owner"], row["state"]) for row in listed] == [("ada", "revoked"), ("bob", "good")]
    done = json.loads(call("token", "audit", "--json", *data).output)
    assert [(row["token"], row["action"], row["subject"], row["detail"]) for row in done] == [
        ("cli", "token.create", ada["id"], "ada, contestant"),
        ("cli", "token.create", bob["id"], "bob, spectator"),
        ("cli", "token.revoke", ada["id"], "ada"),
    ]
    (latest,) = json.loads(call("token", "audit", "--last", "1", "--json", *data).output)
    assert latest["action"] == "token.revoke"
    for shown in (call("token", "audit", *data).output, call("token", "list", *data).output):
        assert ada["id"] in shown
        assert ada["token"] not in shown
