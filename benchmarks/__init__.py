"""Measurements of speed: ``python -m benchmarks``, or ``make bench``."""
