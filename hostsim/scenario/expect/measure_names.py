"""Names of measures of subjects, as options and arguments give them, checked against a scenario."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hostsim.errors import Fault, InputError
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.results.metrics.subject import of_subject_name, parsed
from hostsim.scenario.expect.lookup import Lookup
from hostsim.scenario.scenario import Scenario
from hostsim.scenario.yaml.source_tree import Place, Tree

__all__ = ["measures_of", "require_measures"]


def require_measures(scenario: Scenario, names: Iterable[str], option: str) -> None:
    """Check the measures that an option or argument names, and their subjects, by the names in a scenario.

    Args:
        scenario: the scenario.
        names: of measures, with or without a subject.
        option: location that faults report.

    Raises:
        InputError: all unknown measures, and measures that their subject does not have.
    """
    if faults := faults_of(scenario, names, option):
        raise InputError(faults)


def faults_of(scenario: Scenario, names: Iterable[str], option: str) -> list[Fault]:
    """The faults of `require_measures`."""
    listed = list(names)
    place = Place(option)
    tree = Tree({"metric": tuple(listed)}, {("metric",): place}, option)
    lookup = Lookup(tree, scenario.axes, scenario.resolver.tree)
    for name in listed:
        lookup.metric(name, ("metric",))
    return [replace(fault, path=option, file="", line=0) for fault in lookup.faults]


def measures_of(scenario: Scenario, subject: str, names: Iterable[str] = (), option: str = "of") -> list[str]:
    """Names of measures of a subject, ``latency_p99 of feed``: the given ones, or all of them.

    Args:
        scenario: the scenario.
        subject: its name.
        names: of measures; one with a subject keeps it.
        option: location that faults report.

    Raises:
        InputError: an unknown measure or subject, or a subject that does not have a measure.
    """
    found = [name if parsed(name)[1] else of_subject_name(name, subject) for name in names]
    if not found:
        every = [of_subject_name(name, subject) for name in CATALOGUE]
        found = [name for name in every if not faults_of(scenario, [name], option)]
        if not found:
            raise InputError(faults_of(scenario, [of_subject_name("latency_mean", subject)], option))
        return found
    require_measures(scenario, found, option)
    return found
