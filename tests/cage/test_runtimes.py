"""The table of runtimes: what is shipped, what a host may write, and one line for what this machine lacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from arbiter.cage import ManifestError, RuntimeMissing, Runtimes, RuntimesError, load_manifest
from arbiter.cage.command import bot_command
from arbiter.cage.runtimes import interpreter
from arbiter.errors import InfrastructureError


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return tmp_path / "runtimes.toml"


def test_what_is_shipped() -> None:
    shipped = Runtimes.from_environment({})
    assert set(shipped) == {"python", "python-numpy", "node", "cpp", "executable"}
    assert all(runtime.about for runtime in shipped.values())
    assert [name for name, runtime in shipped.items() if runtime.build] == ["cpp"]
    assert [name for name, runtime in shipped.items() if runtime.own_python] == ["python", "python-numpy"]
    shipped["python"].require()


def test_a_hosts_table_stands_in_its_place(table: Path) -> None:
    table.write_text('[ruby]\nword = "ruby"\nprogram = ["/opt/ruby/bin/ruby", "--disable-gems"]\nprobe = ["-v"]\n')
    runtimes = Runtimes.from_environment({"ARBITER_RUNTIMES": str(table)})
    assert list(runtimes) == ["ruby"]
    with pytest.raises(RuntimesError, match=r"runtime 'python' is unknown; use one of \"ruby\"$"):
        runtimes.named("python")


def test_bots_are_started_as_the_table_says(table: Path, tmp_path: Path) -> None:
    table.write_text(
        '[ruby]\nword = "ruby"\nprogram = ["/opt/ruby", "-W0"]\n'
        '[py]\nword = "python"\nprogram = ["{python}", "-I"]\n[c]\n'
    )
    runtimes = Runtimes.from_file(table)
    (tmp_path / "bot.rb").write_text("")
    (tmp_path / "bot").write_text("")
    (tmp_path / "bot").chmod(0o755)
    commands = {}
    for name, run in (("ruby", '["ruby", "bot.rb"]'), ("py", '["python", "bot.rb"]'), ("c", '["./bot", "fast"]')):
        (tmp_path / "bot.toml").write_text(f'[bot]\nname = "x"\nruntime = "{name}"\nrun = {run}\n')
        commands[name] = bot_command(load_manifest(tmp_path, runtimes), Path("/bot"), runtimes)
    assert commands == {
        "ruby": ["/opt/ruby", "-W0", "bot.rb"],
        "py": [str(interpreter()), "-I", "bot.rb"],
        "c": ["/bot/bot", "fast"],
    }


def test_the_first_word_is_the_runtimes(tmp_path: Path) -> None:
    (tmp_path / "bot.js").write_text("")
    (tmp_path / "bot.toml").write_text('[bot]\nname = "x"\nruntime = "node"\nrun = ["nodejs", "bot.js"]\n')
    with pytest.raises(ManifestError, match='for the runtime "node" the first word is "node"'):
        load_manifest(tmp_path)


def test_what_a_build_makes_is_asked_for_after_it_alone(tmp_path: Path) -> None:
    (tmp_path / "bot.toml").write_text('[bot]\nname = "x"\nruntime = "cpp"\nrun = ["./bot"]\n')
    assert load_manifest(tmp_path, built=False).run == ("./bot",)
    with pytest.raises(ManifestError, match=r"run names '\./bot', which is not a file of"):
        load_manifest(tmp_path)
    (tmp_path / "bot.toml").write_text('[bot]\nname = "x"\nruntime = "cpp"\nrun = ["/bin/sh"]\n')
    with pytest.raises(ManifestError, match="must be a file of the bot's folder"):
        load_manifest(tmp_path, built=False)


WRONG: dict[str, tuple[str, str]] = {
    "no TOML": ("[x", r"not valid TOML"),
    "empty": ("", r"holds no runtime; start from a copy of"),
    "bad name": ('["X Y"]\n', r"the name 'X Y' is not allowed"),
    "no section": ("x = 3", r"x must be a section, written \[x\]"),
    "unknown key": ("[x]\nbiuld = 3\n", r"unknown key 'biuld' in \[x\]; known: about, word,"),
    "text for a list": ('[x]\nbuild = "make"\n', r"x\.build must be a list of non-empty texts, not 'make'"),
    "empty list": ("[x]\nbuild = []\n", r"x\.build must be a list of non-empty texts"),
    "list for a text": ('[x]\nabout = ["x"]\n', r"x\.about must be a non-empty text"),
    "word without program": ('[x]\nword = "x"\n', r"\[x\] needs word and program together"),
    "program without word": ('[x]\nprogram = ["x"]\n', r"\[x\] needs word and program together"),
    "probe without program": ('[x]\nprobe = ["x"]\n', r"\[x\] has a probe, but no program"),
}


@pytest.mark.parametrize(("text", "expected"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_table_is_refused_in_one_line(text: str, expected: str, table: Path) -> None:
    table.write_text(text)
    with pytest.raises(RuntimesError, match=expected) as caught:
        Runtimes.from_environment({"ARBITER_RUNTIMES": str(table)})
    assert str(caught.value).startswith(str(table))
    assert "\n" not in str(caught.value)


def test_a_table_that_is_not_there(table: Path) -> None:
    with pytest.raises(RuntimesError, match=r"runtimes\.toml: can't be read"):
        Runtimes.from_file(table)


MISSING: dict[str, tuple[str, str]] = {
    "program": ('word = "x"\nprogram = ["no-such-program"]', r"no-such-program was not found; install it"),
    "path": ('word = "x"\nprogram = ["/no/such/program"]', r"/no/such/program was not found"),
    "build": ('build = ["no-such-make"]', r"no-such-make was not found"),
    "tool": ('build = ["/bin/sh", "-c", "cc"]\ntools = ["no-such-cc"]', r"no-such-cc was not found"),
    "module": (
        'word = "python"\nprogram = ["{python}"]\nprobe = ["-c", "import no_such_module"]',
        r"ended with exit status 1: ModuleNotFoundError: No module named 'no_such_module'$",
    ),
}


@pytest.mark.parametrize(("section", "expected"), MISSING.values(), ids=MISSING.keys())
def test_what_this_machine_lacks_is_said_in_one_line(section: str, expected: str, table: Path) -> None:
    table.write_text(f"[x]\n{section}\n")
    with pytest.raises(RuntimeMissing, match=expected) as caught:
        Runtimes.from_file(table)["x"].require()
    assert str(caught.value).startswith("the runtime 'x' can't be used on this machine: ")
    assert isinstance(caught.value, InfrastructureError), "no bot is to blame"
    assert "\n" not in str(caught.value)


def test_nothing_is_missing_where_everything_is_there(table: Path) -> None:
    table.write_text(
        '[x]\nword = "python"\nprogram = ["{python}"]\nprobe = ["-c", "pass"]\n'
        'build = ["{python}", "-V"]\ntools = ["sh"]\n'
    )
    runtime = Runtimes.from_file(table)["x"]
    runtime.require()
    assert runtime.build_command == [str(interpreter()), "-V"]


def test_bots_that_dial_in_have_their_name_kept_and_are_refused(tmp_path: Path) -> None:
    (tmp_path / "bot.toml").write_text('[bot]\nname = "x"\nruntime = "remote"\nrun = ["python", "bot.py"]\n')
    said = r"runtime 'remote': bots that stay with their authors and dial in are not taken yet; name one that starts"
    with pytest.raises(ManifestError, match=rf"bot\.toml: {said}"):
        load_manifest(tmp_path)
    table = tmp_path / "table.toml"
    table.write_text('[remote]\nabout = "mine"\n')
    with pytest.raises(RuntimesError, match="the name 'remote' is kept for bots that dial in"):
        Runtimes.from_file(table)
