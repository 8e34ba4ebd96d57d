"""Plays a sitting between links under clocks and records the replay."""
