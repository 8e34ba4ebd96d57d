"""Node.js, the other common runtime that reserves much memory, runs in a cage and reaches its socket."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cage.conftest import Service

PROGRAM = """#!/usr/bin/env node
const net = require("net");
const { Worker } = require("worker_threads");
const address = process.env.ARBITER_ADDRESS.replace("unix:", "");
new Worker("require('worker_threads').parentPort.postMessage('thread')", { eval: true }).on("message", (word) => {
  const connection = net.connect(address, () => connection.write(word));
  connection.on("data", (data) => { console.log(String(data)); connection.end(); });
});
net.connect(1, "127.0.0.1").on("error", (error) => console.log(error.code));
"""


@pytest.mark.skipif(
    shutil.which("node", path="/usr/local/bin:/usr/bin:/bin") is None, reason="Node.js is not installed"
)
@pytest.mark.parametrize("user", ["own", "ordinary"])
def test_node_runs(user: str, request: pytest.FixtureRequest, spot: Path, arbiter_socket: Path) -> None:
    service: Service = request.getfixturevalue(f"{user}_service")
    (spot / "bot.toml").write_text('[bot]\nname = "node"\nruntime = "executable"\nrun = ["play"]\n')
    (spot / "play").write_text(PROGRAM)
    (spot / "play").chmod(0o755)
    _, end = service.run("caged", "finish", spot, arbiter_socket)
    assert end["exit"] == "exit status 0", end["log"]
    assert sorted(str(end["log"]).split()) == ["EAFNOSUPPORT", "thread"]
