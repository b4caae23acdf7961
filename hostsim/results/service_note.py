"""Notes beside a bottleneck: default service times of applications."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hostsim.results.results import EffectiveSetting

__all__ = ["service_notes"]

_SERVICE = re.compile(r"traffic\.([^.]+)\.service( \(.*\))?")
_ORIGIN = re.compile(r"(an? [a-z ]+), ((?:assumed|measured) for .*)")


def service_notes(settings: Iterable[EffectiveSetting], bottleneck: str) -> Iterator[str]:
    """Service time of each application behind a bottleneck, if it is the default of its guest.

    Args:
        settings: the effective settings of the scenario, with default service times.
        bottleneck: of a run: ``context db[0].vcpu1`` or ``node node0``.
    """
    rows = {setting.name: setting for setting in settings}
    resource, _, full = bottleneck.partition(" ")
    for name, setting in rows.items():
        found, origin = _SERVICE.fullmatch(name), _ORIGIN.fullmatch(setting.origin)
        if found is None or origin is None:
            continue
        groups = rows[f"traffic.{found[1]}.to"].value.split(", ")
        owned = any(re.fullmatch(rf"{re.escape(group)}\[\d+\]\.vcpu\d+", full) for group in groups)
        if resource == "node" or (resource == "context" and owned):
            yield f"{origin[1]} takes {setting.value} of a vCPU ({origin[2]}): set traffic.{found[1]}.service"
