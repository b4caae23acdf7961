"""Faults in the caller's words: ``overrides['vms.receiver.count']`` for who calls Python, ``--set`` for who types a command."""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import replace
from typing import ParamSpec, TypeVar

from hostsim.errors import Fault, InputError

__all__ = ["command_line", "in_caller_words"]

P = ParamSpec("P")
T = TypeVar("T")

_IS_COMMAND: ContextVar[bool] = ContextVar("is_command", default=False)
_ARGUMENTS = {"--set": ("changes", "overrides"), "--axis": ("axes",)}
"""Arguments that an option stands for; the first that has the path."""


@contextlib.contextmanager
def command_line() -> Iterator[None]:
    """Context of a command: faults name options."""
    token = _IS_COMMAND.set(True)
    try:
        yield
    finally:
        _IS_COMMAND.reset(token)


def in_caller_words(function: Callable[P, T]) -> Callable[P, T]:
    """Let the faults that a function of the Python interface raises name its arguments, unless a command has called it."""

    @functools.wraps(function)
    def call(*args: P.args, **given: P.kwargs) -> T:
        try:
            return function(*args, **given)
        except InputError as error:
            if _IS_COMMAND.get():
                raise
            arguments = inspect.signature(function).bind_partial(*args, **given).arguments
            raise InputError(_translated(fault, arguments) for fault in error.faults) from None

    return call


def _translated(fault: Fault, arguments: Mapping[str, object]) -> Fault:
    names = _ARGUMENTS.get(fault.file, ())
    path, file = fault.path, fault.file
    if names:
        holders = [name for name in names if path in (arguments.get(name) or ())]  # type: ignore[operator]
        path, file = (f"{holders[0]}[{path!r}]" if holders else f"{names[-1]}: {path}"), ""
    return replace(
        fault, path=_words(path), file=_words(file), message=_words(fault.message), allowed=_words(fault.allowed)
    )


def _words(text: str) -> str:
    text = text.replace("--set", "overrides")
    text = re.sub(r"--axis (\S+?)=\S*", r"axes={'\1': ...}", text).replace("--axis", "axes")
    return re.sub(r"--([a-z]+(?:-[a-z]+)*)", lambda option: option[1].replace("-", "_"), text)
