"""`bot.toml`: what is accepted, and one clear line for everything that is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.cage import Manifest, ManifestError, load_manifest
from arbiter.errors import UsageError

GOOD = 'name = "careful"\nruntime = "python"\nrun = ["python", "bot.py"]\n'


@pytest.fixture
def bot(tmp_path: Path) -> Path:
    folder = tmp_path / "bot"
    folder.mkdir()
    (folder / "bot.py").write_text("")
    (folder / "plain.txt").write_text("")
    (folder / "play").write_text("#!/bin/sh\n")
    (folder / "play").chmod(0o755)
    return folder


def write(folder: Path, section: str) -> Path:
    (folder / "bot.toml").write_text("[bot]\n" + section)
    return folder


def test_python_bot(bot: Path) -> None:
    assert load_manifest(write(bot, GOOD)) == Manifest("careful", "python", ("python", "bot.py"), 1024)


def test_executable_bot_with_arguments_and_tables(bot: Path) -> None:
    text = 'name = "c-bot"\nruntime = "executable"\nrun = ["./play", "--fast"]\nmax_open_tables = 3\n'
    assert load_manifest(write(bot, text)) == Manifest("c-bot", "executable", ("./play", "--fast"), 3)


def test_python_module_is_not_looked_for(bot: Path) -> None:
    text = 'name = "m"\nruntime = "python"\nrun = ["python", "-m", "mybot"]\n'
    assert load_manifest(write(bot, text)).run == ("python", "-m", "mybot")


ERRORS = {
    "name missing": ('runtime = "python"\nrun = ["python", "bot.py"]', ["the key name is missing", "careful"]),
    "name of the wrong type": (GOOD.replace('"careful"', "7"), ["name must be a word", "not a whole number"]),
    "name with capitals": (GOOD.replace("careful", "Careful"), ["name 'Careful'", "a-z"]),
    "name too long": (GOOD.replace("careful", "a" * 41), ["name 'aaa", "1 to 40"]),
    "name with a line end": (GOOD.replace("careful", "care\\n"), ["name 'care\\n'"]),
    "runtime missing": ('name = "x"\nrun = ["python", "bot.py"]', ["the key runtime is missing", '"executable"']),
    "runtime unknown": (GOOD.replace('runtime = "python"', 'runtime = "pyton"'), ["'pyton'", "mean 'python'"]),
    "run missing": ('name = "x"\nruntime = "python"', ["the key run is missing", '["python", "bot.py"]']),
    "run a text": (GOOD.replace('["python", "bot.py"]', '"python bot.py"'), ["run must be a list", "not a text"]),
    "run empty": (GOOD.replace('["python", "bot.py"]', "[]"), ["run must be a list", "not an empty list"]),
    "run with a number": (GOOD.replace('"bot.py"', "5"), ["word 2 of run", "5"]),
    "run with an empty word": (GOOD.replace('"bot.py"', '""'), ["word 2 of run"]),
    "run without python": (GOOD.replace('["python", ', '["python3", '), ["'python3'", 'the first word is "python"']),
    "run without a program": (GOOD.replace(', "bot.py"', ""), ["names no program", "bot.py"]),
    "program missing": (GOOD.replace("bot.py", "bott.py"), ["'bott.py'", "not a file", "mean 'bot.py'"]),
    "program outside": (GOOD.replace("bot.py", "../bot.py"), ["'../bot.py'", "relative path"]),
    "program absolute": (GOOD.replace("bot.py", "/bin/sh"), ["'/bin/sh'", "relative path"]),
    "not executable": ('name="x"\nruntime="executable"\nrun=["plain.txt"]', ["not executable", "chmod +x"]),
    "executable missing": ('name="x"\nruntime="executable"\nrun=["pley"]', ["'pley'", "mean 'play'"]),
    "unknown key": (GOOD + "max_tables = 3", ["unknown key 'max_tables'", "mean 'max_open_tables'"]),
    "tables zero": (GOOD + "max_open_tables = 0", ["max_open_tables is 0", "from 1 to 65536"]),
    "tables too many": (GOOD + "max_open_tables = 65537", ["max_open_tables is 65537"]),
    "tables a text": (GOOD + 'max_open_tables = "3"', ["max_open_tables must be a whole number", "a text"]),
    "tables true": (GOOD + "max_open_tables = true", ["max_open_tables must be a whole number", "true or false"]),
    "unknown section": (GOOD + "[bott]", ["unknown section 'bott'", "mean 'bot'"]),
    "syntax": (GOOD + "max_open_tables = ?", ["not valid TOML", "line 5"]),
}


@pytest.mark.parametrize(("section", "parts"), ERRORS.values(), ids=ERRORS.keys())
def test_error_names_file_key_and_remedy_in_one_line(bot: Path, section: str, parts: list[str]) -> None:
    with pytest.raises(ManifestError) as caught:
        load_manifest(write(bot, section))
    message = str(caught.value)
    assert message.startswith(str(bot / "bot.toml"))
    assert "\n" not in message
    for part in parts:
        assert part in message
    assert isinstance(caught.value, UsageError)


def test_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match=r"nowhere: no such folder"):
        load_manifest(tmp_path / "nowhere")


def test_missing_manifest(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match=r"bot\.toml: no such file; .*\[bot\]"):
        load_manifest(tmp_path)


def test_missing_section(tmp_path: Path) -> None:
    (tmp_path / "bot.toml").write_text("")
    with pytest.raises(ManifestError, match=r"the section \[bot\] is missing"):
        load_manifest(tmp_path)


def test_bot_is_not_a_section(tmp_path: Path) -> None:
    (tmp_path / "bot.toml").write_text("bot = 3")
    with pytest.raises(ManifestError, match=r"must be a section, written \[bot\], not a whole number"):
        load_manifest(tmp_path)


def test_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "bot.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ManifestError, match="UTF-8"):
        load_manifest(tmp_path)


@given(st.text(max_size=50))
def test_a_name_is_accepted_exactly_when_it_is_a_short_lower_case_word(
    tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    folder = tmp_path_factory.mktemp("bot")
    (folder / "bot.py").write_text("")
    escaped = "".join(f"\\U{ord(letter):08x}" for letter in name)
    write(folder, GOOD.replace("careful", escaped))
    letters = set("abcdefghijklmnopqrstuvwxyz")
    good = 1 <= len(name) <= 40 and name[0] in letters and set(name) <= letters | set("0123456789-_")
    try:
        assert load_manifest(folder).name == name
        assert good
    except ManifestError:
        assert not good
