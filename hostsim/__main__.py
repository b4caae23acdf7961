"""``python -m hostsim`` and the ``hostsim`` command."""

from __future__ import annotations

import signal
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; ends the process with its exit status."""
    try:
        from hostsim.cli.app import app

        app(prog_name="hostsim")
    except KeyboardInterrupt:  # before there was a command that could tell it
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # what is left is to end the workers, and takes no time


if __name__ == "__main__":
    main()
