"""The command line: ``arbiter``. Each module is one group of commands; what they share has a module of its own."""
