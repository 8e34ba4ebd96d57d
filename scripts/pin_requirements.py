"""Pin every package that the project's environments hold: ``pin_requirements.py [--upgrade]``, or ``make pins``.

The files in ``requirements/`` name versions and hashes and no index, so that any mirror of the packages serves.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UV = Path(sys.executable).parent / "uv"

# The largest environment comes first and bounds the others, so that switching between them moves no version.
FILES = {
    "dev.txt": ["pyproject.toml", "--extra", "dev"],
    "server.txt": ["pyproject.toml", "--extra", "server", "--constraint", "requirements/dev.txt"],
    "tools.txt": ["--group", "tools", "--constraint", "requirements/dev.txt"],
    "proto.txt": ["--group", "proto"],
}


def main() -> int:
    """Write the files; the exit status is that of the first uv that failed, or 0."""
    parser = argparse.ArgumentParser(description="Pin the packages of the project's environments.")
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions, not those already pinned")
    options = parser.parse_args()
    compile_command = [str(UV), "pip", "compile", "--quiet", "--universal", "--python-version", "3.11"]
    compile_command += ["--no-emit-index-url", "--generate-hashes"]
    compile_command += ["--custom-compile-command", "make pins"]
    if options.upgrade:
        compile_command.append("--upgrade")
    for name, sources in FILES.items():
        command = [*compile_command, *sources, "--output-file", f"requirements/{name}"]
        status = subprocess.run(command, cwd=ROOT, check=False).returncode
        if status != 0:
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main())
