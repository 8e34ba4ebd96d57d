"""Make a virtual environment: ``make_environment.py VENV REQUIREMENTS [--project] [--stamp FILE]``.

Runs on a bare Python, so it uses the standard library alone.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / "requirements" / "tools.txt"
PACKAGES = ("arbiter", "workers")


class SetupError(Exception):
    """The environment can't be made; the message says why and what to do."""


def main() -> int:
    """Make the environment; exit status 0, or 4 when the machine lacks something (one line on stderr says what)."""
    parser = argparse.ArgumentParser(description="Make a virtual environment with pinned packages.")
    parser.add_argument("venv", type=Path, help="folder of the environment, made when missing")
    parser.add_argument("requirements", type=Path, help="file of pinned requirements with hashes")
    parser.add_argument("--project", action="store_true", help="then install this checkout, editable")
    parser.add_argument("--stamp", type=Path, help="file that is touched at the end, for make")
    options = parser.parse_args()
    try:
        python = _virtual_environment(options.venv)
        _install(python, options.requirements, options.project)
        if options.project:
            _compile(python)
    except SetupError as error:
        print(f"error: {error}", file=sys.stderr)
        return 4
    if options.stamp is not None:
        options.stamp.parent.mkdir(parents=True, exist_ok=True)
        options.stamp.touch()
    return 0


def _virtual_environment(venv: Path) -> Path:
    """Return the interpreter of ``venv``, made anew unless it is there with this Python's version."""
    version = ".".join(str(part) for part in sys.version_info[:2])
    python = venv / "bin" / "python"
    if python.exists() and (venv / "lib" / f"python{version}").is_dir() and _succeeds([str(python), "-m", "pip", "-V"]):
        return python
    print(f"Making {venv} with Python {version}", flush=True)
    if not _succeeds([sys.executable, "-c", "import ensurepip"]):
        raise SetupError(f"{sys.executable} can't make virtual environments; on Debian: apt-get install python3-venv")
    _run([sys.executable, "-m", "venv", "--clear", str(venv)])
    return python


def _install(python: Path, requirements: Path, project: bool) -> None:
    """Install by uv, which takes seconds; by pip, which takes most of a minute, where uv can't be had or fails."""
    print(f"Installing {requirements}{' and the project' if project else ''}", flush=True)
    uv = _uv(python)
    if uv is not None and _install_by_uv(uv, python, requirements, project):
        return
    print("uv can't be used here; pip is slower", flush=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*pip, "--require-hashes", "-r", str(requirements)])
    if project:
        _run([*pip, "--no-deps", "-e", str(ROOT)])


def _uv(python: Path) -> str | None:
    """Return a uv: the one on PATH, or the pinned one, installed beside ``python``."""
    found = shutil.which("uv")
    if found is not None:
        return found
    pinned = python.parent / "uv"
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if pinned.exists() or _succeeds([*pip, "--require-hashes", "-r", str(TOOLS)]):
        return str(pinned)
    return None


def _install_by_uv(uv: str, python: Path, requirements: Path, project: bool) -> bool:
    environment = _uv_environment(python)
    # Compiled like what pip installs. Many processes start from it, and bots can't keep what they compile.
    uv_pip = [uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", str(python)]
    steps = [[*uv_pip, "--require-hashes", "-r", str(requirements)]]
    if project:
        # The pinned build backend, not the newest that an isolated build would fetch.
        steps.append([*uv_pip, "--require-hashes", "-r", str(TOOLS)])
        steps.append([*uv_pip, "--no-deps", "--no-build-isolation", "-e", str(ROOT)])
    return all(subprocess.run(step, env=environment, check=False).returncode == 0 for step in steps)


def _compile(python: Path) -> None:
    """Compile the checkout's own packages, which no installer does with an editable one."""
    _run([str(python), "-m", "compileall", "-q", *(str(ROOT / package) for package in PACKAGES)])


def _uv_environment(python: Path) -> dict[str, str]:
    """Return the environment for uv, which reads no settings of pip: the package index is handed on."""
    environment = dict(os.environ)
    listed = subprocess.run([str(python), "-m", "pip", "config", "list"], capture_output=True, text=True, check=False)
    for line in listed.stdout.splitlines():
        key, _, value = line.partition("=")
        if key.rpartition(".")[2] == "index-url":
            environment.setdefault("UV_DEFAULT_INDEX", value.strip().strip("'\""))
    return environment


def _succeeds(command: list[str]) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _run(command: list[str]) -> None:
    status = subprocess.run(command, check=False).returncode
    if status != 0:
        raise SetupError(f"this failed with exit status {status}: {' '.join(command)}")


if __name__ == "__main__":
    sys.exit(main())
