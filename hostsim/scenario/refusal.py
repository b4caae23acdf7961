"""What is refused: a scenario tried with other values, as far as loading goes."""

from __future__ import annotations

from collections.abc import Mapping

from hostsim.expect import Refusal, Refused
from hostsim.record import Scalar
from hostsim.scenario.asked import Changes, RefusedPart
from hostsim.scenario.axis import Axis
from hostsim.scenario.resolve import Resolver
from hostsim.scenario.tree import Place, keys, show_value
from hostsim.units import SECOND

__all__ = ["Trial"]


class Trial:
    """Tries a scenario at a point of its axes with some values changed."""

    def __init__(self, resolver: Resolver, axes: Mapping[str, Axis]) -> None:
        self._resolver, self._axes = resolver, axes

    def refused(self, part: RefusedPart, at: Mapping[str, Scalar], place: Place) -> Refused:
        """What becomes of each case.

        Args:
            part: the cases.
            at: values of the axes; one that no axis can have is told elsewhere.
            place: where the cases stand.
        """
        cases = [self._try(case.set, case.names, at, place) for case in part.cases]
        return Refused((*cases, *(self._try(changes, "", at, place) for changes in part.accepted)))

    def _try(self, tried: Changes, feature: str, at: Mapping[str, Scalar], place: Place) -> Refusal:
        changes = [
            change
            for name, axis in self._axes.items()
            if axis.fault(name, at[name], place) is None
            for change in axis.changes(at[name], place)
        ]
        changes += [(keys(path), value, place) for path, value in tried.items()]
        faults = self._resolver.resolve(changes, SECOND).faults
        words = ", ".join(f"{path}={show_value(value)}" for path, value in tried.items())
        return Refusal(words, feature, tuple(fault.message for fault in faults))
