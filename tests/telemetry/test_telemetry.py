"""Metrics, health and JSON logs, as the programs that read them see them."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, Counter
from prometheus_client.parser import text_string_to_metric_families

import arbiter
from arbiter.errors import InfrastructureError, UsageError
from arbiter.telemetry import Endpoint, metrics
from arbiter.telemetry.logs import JsonFormatter, log_context, set_up_logging
from tests.patience import PATIENCE

REPOSITORY = Path(arbiter.__file__).parent.parent


def get(address: str, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://{address}{path}", timeout=PATIENCE) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_metrics_health_and_readiness_are_told_over_http() -> None:
    registry = CollectorRegistry()
    Counter("cards_played", "Cards.", registry=registry).inc(52)
    amiss: list[str] = []
    checks = {"database": lambda: None, "redis": lambda: amiss[0] if amiss else None}
    with Endpoint("127.0.0.1:0", checks, registry) as endpoint:
        status, text = get(endpoint.address, "/metrics")
        assert status == 200
        families = text_string_to_metric_families(text)
        values = {sample.name: sample.value for family in families for sample in family.samples}
        assert values["cards_played_total"] == 52
        assert get(endpoint.address, "/healthz") == (200, "alive\n")
        assert get(endpoint.address, "/readyz?verbose") == (200, "ready\n")
        amiss.append("can't be reached")
        assert get(endpoint.address, "/readyz") == (503, "redis: can't be reached\n")
        assert get(endpoint.address, "/healthz") == (200, "alive\n"), "it lives all the same"
        assert get(endpoint.address, "/")[0] == 404
        with pytest.raises(InfrastructureError, match=r"can.t serve metrics at .*: Address already in use"):
            Endpoint(endpoint.address, {}).__enter__()


@pytest.mark.parametrize(
    "listen", ["", "9171", "localhost", "localhost:http", "localhost:70000", f"localhost:{'9' * 5000}"]
)
def test_what_is_no_address_for_metrics_is_refused(listen: str) -> None:
    with pytest.raises(UsageError, match="write HOST:PORT"):
        Endpoint(listen, {})


def test_names_have_units_and_labels_have_few_values() -> None:
    labels = {"answer", "outcome", "cause", "code", "queue", "priority", "call"}
    for family in metrics.REGISTRY.collect():
        if family.name.startswith("hearts_"):
            assert family.documentation.endswith(".")
            assert {name for sample in family.samples for name in sample.labels} <= labels | {"le"}
            assert not family.name.endswith(("_ms", "_minutes", "_count"))


def test_a_line_is_json_and_says_what_it_is_about() -> None:
    record = logging.LogRecord("workers.work", logging.WARNING, "", 1, "it's %s", ("late\nnow",), None)
    with log_context(sitting="cup-1a2b/3/0", match=3), log_context(attempt=2):
        line = json.loads(JsonFormatter().format(record))
    assert line["message"] == "it's late\nnow"
    assert (line["level"], line["logger"]) == ("WARNING", "workers.work")
    assert (line["sitting"], line["match"], line["attempt"]) == ("cup-1a2b/3/0", 3, 2)
    assert "sitting" not in json.loads(JsonFormatter().format(record))


LOGGER = """
import logging, redis
from arbiter.telemetry import log_context, set_up_logging
set_up_logging()
with log_context(sitting="a/0/0"):
    logging.getLogger("workers").info("played")
logging.getLogger("celery").info("task received")
for name in ("kombu", "mine"):
    try:
        raise redis.ConnectionError("gone")
    except redis.ConnectionError:
        logging.getLogger(name).exception("broken")
"""


def test_a_process_logs_json_lines_alone() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOGGER],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(REPOSITORY), "ARBITER_LOG_FORMAT": "json"},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert [line["message"] for line in lines] == ["played", "broken", "broken"]
    assert lines[0]["sitting"] == "a/0/0"
    assert "exception" not in lines[1], "a library's outage is one line"
    assert "ConnectionError: gone" in lines[2]["exception"]


@pytest.mark.parametrize(("name", "value"), [("ARBITER_LOG_FORMAT", "xml"), ("ARBITER_LOG_LEVEL", "LOUD")])
def test_a_bad_log_setting_is_named(name: str, value: str) -> None:
    with pytest.raises(UsageError, match=f"{name} is '{value}'"):
        set_up_logging({name: value})
