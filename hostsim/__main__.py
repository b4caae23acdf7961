"""Entry point of the command line: ``python -m hostsim`` and the ``hostsim`` command."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import signal
import sys
import traceback
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

from hostsim.cli.status import CommandSigint, Status, end

__all__ = ["main"]


def main() -> None:
    """Run the command line and end the process with its exit status."""
    sys.stdout, sys.stderr = _closable(sys.stdout), _closable(sys.stderr)
    interrupt = CommandSigint()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored
        signal.signal(signal.SIGINT, interrupt)
        sys.unraisablehook = interrupt.unraisable
        signal.signal(signal.SIGTERM, _terminated)
    # One thread for BLAS: numpy starts a pool of threads in each of the many processes, whose idle threads spin, and
    # the matrices are small.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Imports make many objects that live until the end; searches for cycles among them took a twentieth of a short command.
    gc.set_threshold(100_000)
    try:
        from hostsim.cli.app import app

        app(prog_name="hostsim")
    except KeyboardInterrupt:  # Ctrl-C before a command could handle it
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print("interrupted", file=sys.stderr)
        _end_interrupted()
    except SystemExit as status:
        if status.code == Status.INTERRUPTED:
            _end_interrupted()
        raise
    except OSError as error:  # a full disk, or a folder without read permission
        _say(f"{error.filename or 'cannot go on'}: {error.strerror or error}")
        _give_up_what_is_full()
        sys.exit(Status.INPUT)
    except Exception:  # a defect: print the traceback, and use a status other than that of a failed claim
        if interrupt.has_come:  # the interpreter wraps an interrupt raised during a class's __set_name__
            _end_interrupted()
        _say(traceback.format_exc().rstrip())
        _give_up_what_is_full()
        sys.exit(Status.INTERNAL)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # only the workers have to be ended, which takes no time


class _Closable(io.FileIO):
    """A standard stream whose reader may close it, such as ``head``: the rest of the output is dropped.

    The command goes on, so that its files are written and its exit status is its own.
    """

    def write(self, data: Any, /) -> int:
        """Write bytes; returns their number."""
        try:
            return super().write(data)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            return super().write(data)


def _closable(stream: TextIO | None) -> TextIO:
    """A standard stream that may be closed at any time, or from the start."""
    if stream is None:  # the null device takes its number, which the next opened file would have taken
        return Path(os.devnull).open("w", encoding="utf-8")
    if stream.isatty():
        return stream
    raw = io.BufferedWriter(_Closable(stream.fileno(), "w", closefd=False))
    return io.TextIOWrapper(raw, stream.encoding, stream.errors, line_buffering=stream is sys.stderr)


def _terminated(number: int, frame: FrameType | None) -> None:
    """Handles SIGTERM, for example of a batch system, like Ctrl-C; a second one ends the process at once."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.raise_signal(signal.SIGINT)


def _end_interrupted() -> None:
    """End an interrupted command without the slow cleanup of its objects."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _give_up_what_is_full()
    end()


def _give_up_what_is_full() -> None:
    """Redirect a stream that cannot be flushed to the null device: a second flush at exit would change the exit status."""
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
