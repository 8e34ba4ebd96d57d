"""All metrics, in one place. Times are in seconds; labels have few values, none of which is an id or a name that
somebody chose, but for queues, whose names the host's table of runtimes bounds.

Names and units follow https://prometheus.io/docs/practices/naming/.
"""

from __future__ import annotations

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, PlatformCollector, ProcessCollector

REGISTRY: Final = CollectorRegistry()
"""Those of this process; the library's own registry is left alone."""

ProcessCollector(registry=REGISTRY)
PlatformCollector(registry=REGISTRY)

# -- the arbiter: what came of sittings --------------------------------------------------------------------------------

LEASES: Final = Counter("hearts_leases", "Questions for a sitting, by answer.", ["answer"], registry=REGISTRY)
REPORTS: Final = Counter("hearts_reports", "Reports of sittings, by outcome.", ["outcome"], registry=REGISTRY)
RELEASES: Final = Counter("hearts_releases", "Sittings given back, by cause.", ["cause"], registry=REGISTRY)
HANDS: Final = Counter("hearts_hands", "Hands of recorded sittings.", registry=REGISTRY)
REPLAY_BYTES: Final = Counter("hearts_replay_bytes", "Bytes of their replays, as they came.", registry=REGISTRY)
FAULTS: Final = Counter("hearts_faults", "Faults in recorded sittings, by code.", ["code"], registry=REGISTRY)
BOTS_SENT: Final = Counter("hearts_bots_sent", "Bot versions sent to workers.", registry=REGISTRY)

# -- the coordinator: the flow of work ---------------------------------------------------------------------------------

LEADING: Final = Gauge("hearts_tournaments_led", "Running tournaments that this process leads.", registry=REGISTRY)
PLAYING: Final = Gauge("hearts_sittings_leased", "Sittings of those that are being played.", registry=REGISTRY)
QUEUED: Final = Gauge("hearts_queue_length", "Sittings waiting in a queue.", ["queue"], registry=REGISTRY)
SENT: Final = Counter("hearts_sittings_sent", "Sittings put into queues, by priority.", ["priority"], registry=REGISTRY)
EXPIRED: Final = Counter("hearts_leases_expired", "Leases that were taken back from silent workers.", registry=REGISTRY)
LOOKS: Final = Histogram(
    "hearts_look_seconds",
    "How long a look at all plans takes.",
    buckets=(0.005, 0.02, 0.1, 0.5, 2, 10),
    registry=REGISTRY,
)

# -- the worker: playing -----------------------------------------------------------------------------------------------

QUEUE_WAIT: Final = Histogram(
    "hearts_queue_wait_seconds",
    "Time from the sending of a sitting to its arrival at a worker, by the clocks of both machines.",
    buckets=(0.01, 0.1, 0.5, 2, 10, 60, 300, 1800),
    registry=REGISTRY,
)
SITTING_TIME: Final = Histogram(
    "hearts_sitting_seconds",
    "Wall time of a played sitting.",
    buckets=(0.5, 1, 2, 5, 15, 60, 300, 1800),
    registry=REGISTRY,
)
DECISION_TIME: Final = Histogram(
    "hearts_mean_decision_seconds",
    "Thinking time for a decision, the mean of a bot over a sitting: an observation is a bot of a sitting.",
    buckets=(1e-5, 1e-4, 1e-3, 0.01, 0.1, 1, 10),
    registry=REGISTRY,
)
BATCH: Final = Histogram(
    "hearts_mean_batch_answers",
    "Answers in a message, the mean of a bot over a sitting: an observation is a bot of a sitting.",
    buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256),
    registry=REGISTRY,
)
STARVED: Final = Counter(
    "hearts_starved_seconds",
    "Time that bots lost to others on the machine, given back to their clocks.",
    registry=REGISTRY,
)
VOIDED: Final = Counter("hearts_sittings_voided", "Sittings voided by a starved machine.", registry=REGISTRY)
RETRIES: Final = Counter("hearts_retries", "Calls to the arbiter that were tried again.", ["call"], registry=REGISTRY)
BUSY: Final = Gauge("hearts_worker_busy", "1 while a sitting is being played.", registry=REGISTRY)
