"""Generate ``arbiter/api`` from ``proto/``: ``generate_proto.py [--check]``.

Runs in the environment of ``requirements/proto.txt`` (``make proto`` makes it): the generated code has to come from the
oldest generator that the project supports, and that generator needs an older protobuf than the service runs on.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

from google.protobuf.descriptor_pb2 import FileDescriptorSet

ROOT = Path(__file__).resolve().parent.parent
PROTO = ROOT / "proto"
API = Path("arbiter") / "api"


class GenerateError(Exception):
    """The code can't be generated; the message says why."""


def main() -> int:
    """Write the code, or with ``--check`` compare it. Exit status 1 when it differs or can't be generated, else 0."""
    parser = argparse.ArgumentParser(description="Generate arbiter/api from proto/.")
    parser.add_argument("--check", action="store_true", help="write nothing; name the files that differ")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        try:
            fresh = generate(PROTO, Path(scratch))
        except GenerateError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
        current = read_tree(ROOT / API)
        stale = sorted(name for name in fresh.keys() | current.keys() if fresh.get(name) != current.get(name))
        if options.check:
            for name in stale:
                print(f"{API / name} does not follow from proto/; run: make proto", file=sys.stderr)
            return 1 if stale else 0
        for name in stale:
            write(ROOT / API / name, fresh.get(name))
        print(f"{len(fresh)} files, {len(stale)} changed")
    return 0


def generate(proto: Path, out: Path) -> dict[str, bytes]:
    """Generate into the empty folder ``out`` and return the contents of ``arbiter/api`` by path below it.

    Raises GenerateError when there is nothing to generate from or the compiler refuses it.
    """
    sources = sorted(path.relative_to(proto).as_posix() for path in proto.glob("arbiter/api/**/*.proto"))
    if not sources:
        raise GenerateError(f"no .proto file below {proto / API}")
    code = out / "code"
    code.mkdir()
    described = out / "descriptors"
    compiler(proto, sources, [f"--descriptor_set_out={described}"])
    compiler(proto, sources, [f"--python_out={code}", *plugin("mypy", f"readable_stubs,quiet:{code}")])
    descriptors = FileDescriptorSet.FromString(described.read_bytes())
    # The gRPC generator writes a module with nothing in it for a file without a service.
    serving = [file.name for file in descriptors.file if file.service]
    if serving:
        compiler(proto, serving, [f"--grpc_python_out={code}", *plugin("mypy_grpc", f"quiet:{code}")])
    folders = {parent for path in code.rglob("*.py") for parent in path.relative_to(code).parents}
    for folder in sorted(folders - {Path("."), API.parent}):
        package = ".".join(folder.parts)
        (code / folder / "__init__.py").write_text(f'"""Generated code of the contract: {package}."""\n')
    return read_tree(code / API)


def plugin(name: str, parameter: str) -> list[str]:
    """Return protoc's options for a plugin that lies beside this interpreter."""
    return [
        f"--plugin=protoc-gen-{name}={Path(sys.executable).parent / f'protoc-gen-{name}'}",
        f"--{name}_out={parameter}",
    ]


def compiler(proto: Path, sources: list[str], options: list[str]) -> None:
    """Run protoc in a process of its own, since it can be called only once in each. Raises GenerateError."""
    includes = [f"-I{proto}", f"-I{files('grpc_tools') / '_proto'}"]
    command = [sys.executable, "-m", "grpc_tools.protoc", *includes, *options, *sources]
    done = subprocess.run(command, cwd=proto, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise GenerateError(f"protoc refused {', '.join(sources)}: {done.stderr.strip()}")


def read_tree(folder: Path) -> dict[str, bytes]:
    """Return the contents of all files below ``folder`` by their path, caches left out."""
    paths = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def write(path: Path, content: bytes | None) -> None:
    """Write a file, or remove it where ``content`` is None."""
    if content is None:
        path.unlink()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


if __name__ == "__main__":
    sys.exit(main())
