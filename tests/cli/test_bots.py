"""``arbiter bot`` without a service: in a data folder of this machine; and what is said before a service is dialled."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from arbiter.cli.console import Following
from arbiter.cli.dialling import server_of
from arbiter.cli.local import bots_of, service_lock
from arbiter.errors import ArbiterError, UsageError
from arbiter.packages import ForeignContents
from arbiter.store import Store
from tests.cli.conftest import Call
from tests.e2e.support import SAMPLES


@pytest.fixture
def bot(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    shutil.copytree(SAMPLES / "lowest", folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def test_a_bot_lives_in_a_data_folder_as_at_a_service(call: Call, bot: Path, tmp_path: Path) -> None:
    data = ("--data-dir", tmp_path / "data")
    for command, said in (
        ("list", "no bots yet; submit one"),
        ("versions", "no versions yet"),
        ("builds", "no builds; "),
    ):
        empty = call("bot", command, *data)
        assert (empty.status, empty.output) == (0, "")
        assert empty.errors.startswith(said)
    kept = call("bot", "submit", bot, "--rules", "omnibus", *data)
    assert (kept.status, kept.output) == (0, "lowest@1 is active\n"), kept.errors
    assert re.fullmatch(r"(lowest@1 is (received|building|validating)\n)*", kept.errors)
    again = call("bot", "submit", bot, "--json", *data)
    assert (json.loads(again.output)["number"], json.loads(again.output)["owner"]) == (1, "host")
    assert call("bot", "logs", "lowest@1", *data).output == "omnibus: exit status 0\n"
    other = call("bot", "submit", bot, "--rules", "spot", *data)
    assert (other.status, other.output) == (2, "")
    assert other.errors.splitlines()[-1] == (
        "error: --rules: lowest@1 is active, tried out in omnibus and not in spot; to have the same content tried out"
        " anew, give another --message"
    )
    assert json.loads(call("bot", "list", "--json", *data).output) == [
        {"bot": "lowest", "owner": "host", "latest": 1, "active": 1}
    ]
    retired = call("bot", "retire", "lowest@1", *data)
    assert (retired.status, retired.errors) == (0, "lowest@1 is retired\n")
    revived = call("bot", "submit", bot, "--wait", *data)
    assert (revived.status, revived.output) == (1, "lowest@1 is retired\n")
    (version,) = json.loads(call("bot", "versions", "--json", *data).output)
    assert (version["bot"], version["state"], version["tried"]) == ("lowest", "retired", ["omnibus"])
    assert re.search(r"lowest +│ host +│ lowest@1 +│ –", call("bot", "list", *data).output)


@pytest.mark.parametrize("kind", ["zip", "gztar"])
def test_an_archive_is_the_same_version_as_its_folder(call: Call, bot: Path, tmp_path: Path, kind: str) -> None:
    data = ("--data-dir", tmp_path / "data")
    archive = Path(shutil.make_archive(str(tmp_path / "packed"), kind, bot.parent, bot.name))
    assert call("bot", "submit", archive, *data).output == "lowest@1 is active\n"
    assert call("bot", "submit", bot, *data).output == "lowest@1 is active\n"
    archive.write_bytes(archive.read_bytes()[:-100])
    refused = call("bot", "submit", archive, *data)
    assert (refused.status, refused.output) == (2, "")
    assert refused.errors.startswith(f"error: {archive}: ")
    assert refused.errors.count("\n") == 1


def test_one_that_does_not_play_fails_with_its_log(call: Call, bot: Path, tmp_path: Path) -> None:
    (bot / "bot.py").write_text("raise SystemExit('no model file')\n")
    failed = call("bot", "submit", bot, "--data-dir", tmp_path / "data")
    assert failed.status == 1
    assert failed.output.startswith("lowest@1 is failed: black_lady: CRASH at sitting: ended before its greeting")
    assert failed.errors.endswith("its log: arbiter bot logs lowest@1\n")
    assert "no model file" in call("bot", "logs", "lowest@1", "--data-dir", tmp_path / "data").output


def test_rule_sets_are_refused_where_a_service_has_its_own(call: Call, bot: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    with service_lock(data):  # as a service holds it
        refused = call("bot", "submit", bot, "--rules", "omnibus", "--data-dir", data)
    assert (refused.status, refused.output) == (2, "")
    assert refused.errors.startswith(
        f"error: --rules: the service of {data} tries versions out, in the rule sets that it"
    )
    assert not (data / "arbiter.db").exists(), "nothing is kept"
    there = call("bot", "submit", bot, "--rules", "omnibus", "--server", "unix:/nowhere.sock")
    assert (there.status, there.output) == (2, "")
    assert (
        there.errors == "error: --rules: a service says itself in which rule sets it tries versions out; leave it out\n"
    )


def test_a_refusal_names_the_folder(call: Call, bot: Path, tmp_path: Path) -> None:
    (bot / "bot.toml").write_text("[bot]\n")
    refused = call("bot", "submit", bot, "--data-dir", tmp_path / "data")
    assert (refused.status, refused.errors.count("\n")) == (2, 1)
    assert refused.errors.startswith(f"error: {bot}")


@pytest.mark.parametrize(
    "address",
    ["arbiter.example.org", "https://arbiter.example.org:7171", "unix:", "a b:7", "::1:7171", "host:", ":7171"],
)
def test_an_address_of_another_form_is_refused_at_once(call: Call, bot: Path, address: str) -> None:
    refused = call("bot", "submit", bot, "--server", address)
    assert refused.status == 2
    assert refused.errors.startswith(
        f"error: --server {address!r}: write HOST:PORT, such as arbiter.example.org:7171, or"
    )
    assert refused.errors.count("\n") == 1


@pytest.mark.parametrize(
    "address", ["arbiter.example.org:7171", "127.0.0.1:1", "[2001:db8::1]:7171", "unix:/run/a.sock"]
)
def test_others_are_taken(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARBITER_API_TOKEN", "x")
    assert server_of(address, None, None, False).address == address


def test_a_token_is_in_a_file_or_in_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Never among a command's arguments, which every user of the machine can read."""
    file = tmp_path / "token"
    monkeypatch.setenv("ARBITER_API_TOKEN", " arb_one\n")
    assert server_of("host:1", None, None, False).token == "arb_one"
    file.write_text("arb_two\n")
    assert server_of("host:1", file, None, False).token == "arb_two", "what is named counts first"
    for content, said in (
        (b"\n", f"no token in {file}"),
        (b"arb\xff", "characters that no token"),
        (b"a\nb", "characters"),
    ):
        file.write_bytes(content)
        with pytest.raises(UsageError, match=said):
            server_of("host:1", file, None, False)
    with pytest.raises(
        UsageError, match="can't be read: No such file or directory; name the file that holds the token"
    ):
        server_of("host:1", tmp_path / "nowhere", None, False)


def test_no_command_takes_a_token_as_an_argument(call: Call) -> None:
    for command in (("bot", "list"), ("service", "list"), ("ladder", "show"), ("gate", "a", "--against", "b")):
        refused = call(*command, "--token", "arb_x")
        assert (refused.status, "No such option: --token" in refused.errors) == (2, True)


def test_a_token_without_a_service_is_no_local_call(call: Call, bot: Path, tmp_path: Path) -> None:
    refused = call("bot", "submit", bot, "--token-file", tmp_path / "token")
    assert (refused.status, refused.errors) == (
        2,
        "error: no service is named; give --server HOST:PORT or set ARBITER_SERVER\n",
    )
    with pytest.raises(UsageError, match="no token in ARBITER_API_TOKEN; put the one there that"):
        server_of("host:1", None, None, False)


def test_without_a_terminal_each_step_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with Following() as following:
        for text, step in (("0 of 9", 0), ("0 of 9 still", 0), ("5 of 9\n", 1)):
            following.show(text, step)
    assert capsys.readouterr().err == "0 of 9\n5 of 9 \n"


class TestAnObjectStore:
    def test_versions_are_kept_where_a_url_says(
        self, bot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ARBITER_BOTS_URL", f"file://{tmp_path}/bucket")
        with Store.open(tmp_path / "arbiter.db") as store:
            digest = bots_of(store, tmp_path / "one").put(bot).digest
            names = sorted(path.name for path in (tmp_path / "bucket").iterdir())
            assert names == [".database", f"{digest}.tar.gz"]
            assert (bots_of(store, tmp_path / "another").open(digest) / "bot.py").exists()

    def test_the_bucket_of_another_database_is_refused(
        self, call: Call, bot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Each would delete what only the other needs, for it knows nothing of it."""
        with Store.open(tmp_path / "arbiter.db") as store:
            monkeypatch.setenv("ARBITER_BOTS_URL", f"file://{tmp_path}/bucket")
            bots_of(store, tmp_path)
            with (
                Store.open(tmp_path / "other.db") as other,
                pytest.raises(ForeignContents, match=r"another place or that"),
            ):
                bots_of(other, tmp_path)
            bots_of(store, tmp_path)

    def test_a_folder_of_another_database_is_refused(
        self, call: Call, bot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        data = tmp_path / "data"
        data.mkdir()
        (data / "bots").mkdir()
        (data / "bots" / ".database").write_text("0" * 32)
        refused = call("bot", "submit", bot, "--data-dir", data)
        assert (refused.status, refused.output) == (2, "")
        assert refused.errors.startswith(
            f"error: {data}/bots: holds the bots of another database, and each would delete"
        )
        assert refused.errors.endswith(f", or, if that is gone for good, delete {data}/bots/.database\n")
        assert refused.errors.count("\n") == 1

    @pytest.mark.parametrize("url", ["nowhere://bucket", "chess"])
    def test_a_url_of_another_kind_is_refused(self, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ARBITER_BOTS_URL", url)
        with Store.open(tmp_path / "arbiter.db") as store, pytest.raises(ArbiterError, match="ARBITER_BOTS_URL"):
            bots_of(store, tmp_path)
