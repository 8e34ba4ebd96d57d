"""Starts an embedded Redis and worker processes on one machine."""
