"""hostsim: a discrete-event simulator of the network stack of an ESXi-style host.

::

    import hostsim

    results = hostsim.run("splitrx", quick=True)
    results.table                # one row a point and replication
    results.plot()
    hostsim.check("splitrx", quick=True)

Names are imported when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hostsim import compiled

if TYPE_CHECKING:
    from hostsim.api import Results, check, compare, load, open_results, reproduce, run
    from hostsim.errors import HostsimError, InputError, StoreError
    from hostsim.expect import Verdict, VerdictState
    from hostsim.metrics import CATALOGUE
    from hostsim.record import RunRecord
    from hostsim.results.bottleneck import bottleneck
    from hostsim.results.context import contexts
    from hostsim.results.table import entities, series_frame

__all__ = [
    "CATALOGUE",
    "HostsimError",
    "InputError",
    "Results",
    "RunRecord",
    "StoreError",
    "Verdict",
    "VerdictState",
    "bottleneck",
    "check",
    "compare",
    "contexts",
    "entities",
    "load",
    "open_results",
    "reproduce",
    "run",
    "series_frame",
]

_HOME = {
    "hostsim.api": ("Results", "check", "compare", "load", "open_results", "reproduce", "run"),
    "hostsim.errors": ("HostsimError", "InputError", "StoreError"),
    "hostsim.expect": ("Verdict", "VerdictState"),
    "hostsim.metrics": ("CATALOGUE",),
    "hostsim.record": ("RunRecord",),
    "hostsim.results.bottleneck": ("bottleneck",),
    "hostsim.results.context": ("contexts",),
    "hostsim.results.table": ("entities", "series_frame"),
}

compiled.use()


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    import importlib

    for module, names in _HOME.items():
        if name in names:
            value = getattr(importlib.import_module(module), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'hostsim' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names, imported or not."""
    return sorted({*globals(), *__all__})
