"""Crashing: ends before it greets, with a message that would colour the terminal."""

import sys

sys.exit("no \x1b[31mweights\x1b[0m to load")
