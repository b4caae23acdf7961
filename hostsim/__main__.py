"""Entry point of the command line: ``python -m hostsim`` and the ``hostsim`` command."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import traceback

from hostsim.cli.status import CommandSigint, Status, end

__all__ = ["main"]


def main() -> None:
    """Run the command line and end the process with its exit status."""
    interrupt = CommandSigint()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored
        signal.signal(signal.SIGINT, interrupt)
        sys.unraisablehook = interrupt.unraisable
    # Its matrices are small and its processes many. A pool of threads in each, which numpy makes when it is imported, waits in a loop.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from hostsim.cli.app import app

        app(prog_name="hostsim")
    except KeyboardInterrupt:  # before there was a command that could tell it
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print("interrupted", file=sys.stderr)
        _end_interrupted()
    except SystemExit as status:
        if status.code == Status.INTERRUPTED:
            _end_interrupted()
        raise
    except OSError as error:  # a full disk, a folder that may not be looked into
        _say(f"{error.filename or 'cannot go on'}: {error.strerror or error}")
        _give_up_what_is_full()
        sys.exit(Status.INPUT)
    except Exception:  # a defect: its traceback, and a status that no failed claim has
        if interrupt.has_come:  # the interpreter wraps an interrupt that comes in a class's __set_name__
            _end_interrupted()
        _say(traceback.format_exc().rstrip())
        _give_up_what_is_full()
        sys.exit(Status.INTERNAL)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # what is left is to end the workers, and takes no time


def _end_interrupted() -> None:
    """End an interrupted command without taking apart what it has made, which may last."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _give_up_what_is_full()
    end()


def _give_up_what_is_full() -> None:
    """Redirect a stream that cannot be flushed to nowhere: the interpreter would try again at its end and change the exit status."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _say(text: str) -> None:
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr)


if __name__ == "__main__":
    main()
