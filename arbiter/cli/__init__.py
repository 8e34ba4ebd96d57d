"""The command line: ``arbiter``. Each module is one group of commands; what they share has a module of its own."""

import os

# Read when gRPC is first used. By default its library writes lines of its own to stderr, beside the one that says what
# is wrong; what it takes for errors is still told.
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
