"""``arbiter`` and ``python -m arbiter``: loads the command line, which takes a moment in which much can happen."""

from __future__ import annotations

import sys

from arbiter.errors import ArbiterError


def main() -> None:
    """Run the command line; see `arbiter.cli.main.main`."""
    try:
        from arbiter.cli.main import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    except ArbiterError as error:  # such as a compiled engine that is not of these sources
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    run()


if __name__ == "__main__":
    main()
