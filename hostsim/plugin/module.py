"""Modules of plug-ins: executed from their text, once for each process, under a name that is unique to text and file.

A point carries its plug-ins as text (`hostsim.config.plugin.PluginSpec`). Every worker makes the module from the text and reads no file (docs/decisions/0121).
"""

from __future__ import annotations

import functools
import hashlib
import linecache
import sys
import threading
import traceback
from collections.abc import Iterator
from types import CodeType, ModuleType

from hostsim.config.plugin import PluginSpec
from hostsim.errors import Fault, InputError
from hostsim.plugin.registry import Registry

__all__ = ["module_of", "place_of", "registry_of"]

_PREFIX = "hostsim_plugin_"
_LOCK = threading.RLock()
"""Lock, as a worker of a cluster reads several points at a time."""


def module_of(plugin: PluginSpec) -> ModuleType:
    """The module of a plug-in, executed once in this process.

    Raises:
        InputError: it is not Python, or fails.
    """
    # the same text under another path is a separate module, so that messages name the right file
    name = _PREFIX + hashlib.sha256(f"{plugin.file}\0{plugin.digest}".encode()).hexdigest()
    with _LOCK:
        if name not in sys.modules:
            module = sys.modules[name] = ModuleType(name)
            module.__file__ = plugin.file
            try:
                exec(_compiled(plugin), vars(module))  # noqa: S102  a plug-in is code
            except BaseException as error:
                del sys.modules[name]
                if isinstance(error, KeyboardInterrupt | InputError):
                    raise
                raise InputError(_failure(plugin, error)) from error
        return sys.modules[name]


def _compiled(plugin: PluginSpec) -> CodeType:
    lines = plugin.source.splitlines(keepends=True)
    linecache.cache[plugin.file] = (len(plugin.source), None, lines, plugin.file)  # for tracebacks, on any machine
    try:
        return compile(plugin.source, plugin.file, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise InputError(Fault(f"is not Python: {error.msg}", file=plugin.file, line=error.lineno)) from None
    except ValueError as error:  # null bytes, before Python 3.11.4
        raise InputError(Fault(f"is not Python: {error}", file=plugin.file)) from None


@functools.lru_cache(maxsize=32)
def registry_of(plugins: tuple[PluginSpec, ...]) -> Registry:
    """The registry with the additions of plug-ins.

    Raises:
        InputError: a plug-in is not Python, has no ``register``, fails, or registers an invalid object or a used name.
    """
    registry = Registry()
    for plugin in plugins:
        register = getattr(module_of(plugin), "register", None)
        if not callable(register):
            raise InputError(Fault("has no function register", allowed="def register(registry): ...", file=plugin.file))
        try:
            registry.load(plugin, register)
        except KeyboardInterrupt:
            raise
        except InputError as error:
            raise error.at(plugin.file, _line(error)) from None
        except BaseException as error:
            raise InputError(_failure(plugin, error)) from error
    return registry


def _failure(plugin: PluginSpec, error: BaseException) -> Fault:
    return Fault(f"fails: {_words(error)}", file=plugin.file, line=_line(error))


def _words(error: BaseException) -> str:
    return "".join(traceback.format_exception_only(error)).strip()


def _line(error: BaseException) -> int | None:
    """The line of a plug-in that raised an error."""
    return next((line for _, line in _frames(error)), None)


def place_of(error: BaseException) -> str:
    """File and line of the plug-in that caused an error of a run; empty without one."""
    return next((f"{file}:{line}" for file, line in _frames(error)), "")


def _frames(error: BaseException) -> Iterator[tuple[str, int]]:
    """Files and lines of plug-ins in the traceback of an error, the innermost first, with those of its causes before."""
    if (cause := error.__cause__ or error.__context__) is not None:
        yield from _frames(cause)
    walked = list(traceback.walk_tb(error.__traceback__))
    for frame, line in reversed(walked):
        if frame.f_globals.get("__name__", "").startswith(_PREFIX):
            yield frame.f_code.co_filename, line
