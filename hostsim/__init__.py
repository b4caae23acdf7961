"""hostsim: a discrete-event simulator of the network stack of an ESXi-style host.

::

    import hostsim

    scenario = hostsim.load("splitrx")    # a notebook displays it; scenario.host() draws the host
    results = hostsim.run(scenario, quick=True)
    results.table                # one row for each point and replication
    results.curve(x="receivers", y="loss", by="split")
    results.plot("loss")         # a figure of the scenario, with the published values
    hostsim.check("splitrx", quick=True)
    hostsim.what_if("splitrx", {"split": 1}, axes={"receivers": 24}, quick=True)

Names are imported when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hostsim.engine import compiled

if TYPE_CHECKING:
    from hostsim.api import calibrate, check, compare, load, open_results, reproduce, run, what_if
    from hostsim.campaign.run_option import RunOptions
    from hostsim.campaign.stored_run import stored_runs
    from hostsim.campaign.what_if import WhatIf
    from hostsim.engine.record import RunRecord
    from hostsim.errors import HostsimError, InputError, StoreError
    from hostsim.lab.calibration.host_calibration import Calibration
    from hostsim.results.bottleneck import bottleneck
    from hostsim.results.compare import Differences
    from hostsim.results.context import contexts, cpu_time
    from hostsim.results.expect import Verdict, VerdictState
    from hostsim.results.metrics.catalogue import CATALOGUE
    from hostsim.results.record_frame import entities, series_frame
    from hostsim.results.results import Results
    from hostsim.results.verdicts import Verdicts
    from hostsim.scenario.scenario import Scenario
    from hostsim.views.notebook.host import HostView

__all__ = [
    "CATALOGUE",
    "Calibration",
    "Differences",
    "HostView",
    "HostsimError",
    "InputError",
    "Results",
    "RunOptions",
    "RunRecord",
    "Scenario",
    "StoreError",
    "Verdict",
    "VerdictState",
    "Verdicts",
    "WhatIf",
    "bottleneck",
    "calibrate",
    "check",
    "compare",
    "contexts",
    "cpu_time",
    "entities",
    "load",
    "open_results",
    "reproduce",
    "run",
    "series_frame",
    "stored_runs",
    "what_if",
]

_HOME = {
    "hostsim.campaign.run_option": ("RunOptions",),
    "hostsim.campaign.stored_run": ("stored_runs",),
    "hostsim.api": (
        "calibrate",
        "check",
        "compare",
        "load",
        "open_results",
        "reproduce",
        "run",
        "what_if",
    ),
    "hostsim.errors": ("HostsimError", "InputError", "StoreError"),
    "hostsim.results.expect": ("Verdict", "VerdictState"),
    "hostsim.results.metrics.catalogue": ("CATALOGUE",),
    "hostsim.engine.record": ("RunRecord",),
    "hostsim.results.bottleneck": ("bottleneck",),
    "hostsim.results.context": ("contexts", "cpu_time"),
    "hostsim.results.record_frame": ("entities", "series_frame"),
    "hostsim.lab.calibration.host_calibration": ("Calibration",),
    "hostsim.views.notebook.host": ("HostView",),
    "hostsim.campaign.what_if": ("WhatIf",),
    "hostsim.results.compare": ("Differences",),
    "hostsim.results.results": ("Results",),
    "hostsim.results.verdicts": ("Verdicts",),
    "hostsim.scenario.scenario": ("Scenario",),
}

compiled.use()


def __getattr__(name: str) -> Any:
    """Import a public name lazily, when it is first used."""
    import importlib.metadata

    if name == "__version__":
        return importlib.metadata.version("hostsim")
    for module, names in _HOME.items():
        if name in names:
            value = getattr(importlib.import_module(module), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'hostsim' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names, imported or not."""
    return sorted([*__all__, "__version__"])
