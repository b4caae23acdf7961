"""``python -m hostsim`` and the ``hostsim`` command."""

from __future__ import annotations

from hostsim.cli.app import app

__all__ = ["main"]


def main() -> None:
    """Run the command line; ends the process with its exit status."""
    app(prog_name="hostsim")


if __name__ == "__main__":
    main()
