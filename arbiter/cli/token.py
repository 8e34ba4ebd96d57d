"""``arbiter token``: who may call a service."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated

import typer
from rich.table import Table

from arbiter.cli.console import errors, one_line, output, print_json, results_console
from arbiter.cli.options import DataDir, Json, data_folder, need_server

app = typer.Typer(help="Say who may call the service.", no_args_is_help=True, rich_markup_mode=None)


class ScopeName(StrEnum):
    """What a token is good for; as `arbiter.store.Scope`, which needs the server's packages."""

    HOST = "host"
    CONTESTANT = "contestant"
    WORKER = "worker"
    SPECTATOR = "spectator"


@app.callback()
def _group() -> None:
    """Say who may call the service."""


@app.command()
def create(
    owner: Annotated[str, typer.Argument(metavar="OWNER", help="Who will hold it, such as a contestant's name.")],
    scope: Annotated[ScopeName, typer.Option("--scope", help="What it is good for.")] = ScopeName.CONTESTANT,
    days: Annotated[int, typer.Option("--days", min=1, max=3650, help="For how long.")] = 180,
    data_dir: DataDir = None,
    json: Json = False,
) -> None:
    """Make a token and print it, this once: only a digest of it is kept."""
    need_server()
    from arbiter.cli.event import open_store
    from arbiter.identity import issue_token
    from arbiter.store import AuditEntry, Scope

    now = datetime.now(UTC)
    with open_store(data_folder(data_dir)) as store:
        token, text = issue_token(store.accounts, owner, Scope(scope.value), now, timedelta(days=days))
        store.accounts.note(AuditEntry(now, "cli", "", "token.create", token.id, f"{owner}, {scope.value}"))
    if json:
        print_json({"id": token.id, "owner": owner, "scope": scope.value, "token": text})
        return
    errors.print(f"token {token.id} for {owner}, good for {scope.value} until {token.expires_at:%Y-%m-%d}:")
    output.print(text, soft_wrap=True, highlight=False)


@app.command("list")
def list_(data_dir: DataDir = None, json: Json = False) -> None:
    """List all tokens, oldest first."""
    need_server()
    from arbiter.cli.event import open_store

    with open_store(data_folder(data_dir)) as store:
        tokens = store.accounts.tokens()
    now = datetime.now(UTC)
    rows = [
        {
            "id": token.id,
            "owner": token.owner,
            "scope": token.scope.value,
            "created": token.created_at.isoformat(timespec="seconds"),
            "expires": token.expires_at.isoformat(timespec="seconds"),
            "state": "revoked" if token.revoked_at else "expired" if token.expires_at <= now else "good",
        }
        for token in tokens
    ]
    if json:
        print_json(rows)
        return
    if not rows:
        errors.print("no tokens yet; make one with: arbiter token create OWNER")
        return
    table = Table()
    for name in ("id", "owner", "scope", "created", "expires", "state"):
        table.add_column(name)
    for row in rows:
        table.add_row(*row.values())
    results_console().print(table)


@app.command()
def revoke(
    token: Annotated[str, typer.Argument(metavar="ID", help="The token's id, which is the middle part of it.")],
    data_dir: DataDir = None,
) -> None:
    """Take a token back, at once."""
    need_server()
    from arbiter.cli.event import open_store
    from arbiter.store import AuditEntry

    now = datetime.now(UTC)
    with open_store(data_folder(data_dir)) as store:
        revoked = store.accounts.revoke_token(token, now)
        store.accounts.note(AuditEntry(now, "cli", "", "token.revoke", revoked.id, revoked.owner))
    errors.print(f"token {revoked.id} of {revoked.owner} is revoked")


@app.command()
def audit(
    last: Annotated[int, typer.Option("--last", min=1, max=100_000, help="How many entries.")] = 50,
    data_dir: DataDir = None,
    json: Json = False,
) -> None:
    """Show what was done by whom, with which token, the latest entries in the order in which they were made."""
    need_server()
    from arbiter.cli.event import open_store

    with open_store(data_folder(data_dir)) as store:
        found = store.accounts.audit(last)[::-1]
    rows = [
        {
            "at": entry.at.isoformat(timespec="seconds"),
            "token": entry.actor,
            "owner": entry.owner,
            "action": entry.action,
            "subject": entry.subject,
            "detail": entry.detail,
        }
        for entry in found
    ]
    if json:
        print_json(rows)
        return
    if not rows:
        errors.print("nothing was done yet")
        return
    table = Table()
    for name in rows[0]:
        table.add_column(name)
    for row in rows:
        table.add_row(*map(one_line, row.values()))
    results_console().print(table)
