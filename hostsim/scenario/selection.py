"""Selection of the scenarios and expectations to check, by names, files and patterns of claim ids."""

from __future__ import annotations

import dataclasses
import fnmatch
import functools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hostsim.config.plugin import PluginSpec
from hostsim.errors import Fault, nearest_name, raise_faults, unknown_name
from hostsim.plugin.source import read_plugins
from hostsim.scenario.load import load
from hostsim.scenario.scenario import Scenario
from hostsim.scenario.shipped_data import predictions, shipped
from hostsim.scenario.source import is_text

__all__ = ["require_shipped", "restrict", "select"]


def select(
    *subjects: str | Path | Mapping[str, Any] | Scenario,
    root: str | Path | None = None,
    plugins: Sequence[str | Path | PluginSpec] = (),
    among: Mapping[str, Path] | None = None,
) -> list[tuple[Scenario, frozenset[str]]]:
    """Select the subjects of `check`: scenarios restricted to the requested expectations, and the names of these.

    A scenario also keeps the expectations from which these are computed. Files are loaded with ``root``, and all
    scenarios with ``plugins`` (see `load`). Names and patterns are looked up in the scenarios ``among``; by default the
    shipped ones except predictions.

    Raises:
        InputError: a subject is neither a scenario, a file nor a pattern that matches a claim.
    """
    names_of = shipped() if among is None else among
    load_one = functools.partial(_loaded, root=root, plugins=read_plugins(plugins))
    load_once = functools.cache(load_one)
    if not subjects:
        return [(scenario, frozenset(_names(scenario))) for scenario in map(load_once, names_of)]
    loaded: dict[str, Scenario] = {}
    names_of_scenario: dict[str, set[str]] = {}
    faults: list[Fault] = []
    for subject in subjects:
        if isinstance(subject, str) and _is_pattern(subject, names_of):
            matches = [
                (scenario, [name for name in _names(scenario) if fnmatch.fnmatchcase(name, subject)])
                for scenario in map(load_once, names_of)
            ]
            if not any(names for _, names in matches):
                candidates = [*names_of, *(name for scenario, _ in matches for name in _names(scenario))]
                faults.append(
                    Fault(
                        "no scenario and no claim of a shipped scenario has this name",
                        given=repr(subject),
                        allowed="a scenario, a file, or a pattern of claim ids",
                        nearest=nearest_name(subject, candidates),
                    )
                )
        else:
            if isinstance(subject, Scenario):
                scenario = subject
            else:
                scenario = load_once(subject) if isinstance(subject, str | Path) else load_one(subject)
            matches = [(scenario, _names(scenario))]
        for scenario, names in matches:
            if names:  # loaded scenarios may differ only in options
                key = (
                    str(scenario.file)
                    if isinstance(subject, str | Path) and not is_text(subject)
                    else str(id(scenario))
                )
                loaded.setdefault(key, scenario)
                names_of_scenario.setdefault(key, set()).update(names)
    raise_faults(faults)
    return [(restrict(loaded[key], names_of_scenario[key]), frozenset(names_of_scenario[key])) for key in loaded]


def require_shipped(names: Iterable[str]) -> list[str]:
    """The shipped scenarios of these names, without duplicates, in the order of `shipped`; all by default.

    Raises:
        InputError: a shipped scenario of this name does not exist.
    """
    scenarios, chosen = list(shipped()), set(names)
    raise_faults(unknown_name("scenario", "", name, scenarios) for name in sorted(chosen.difference(scenarios)))
    return [name for name in scenarios if not chosen or name in chosen]


def restrict(scenario: Scenario, names: Iterable[str]) -> Scenario:
    """Restrict a scenario to the named expectations and those from which they are computed."""
    by_name = {expectation.name: expectation for expectation in scenario.expectations}
    needed: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            waiting += by_name[name].form.others()
    return dataclasses.replace(
        scenario, expectations=tuple(entry for entry in scenario.expectations if entry.name in needed)
    )


def _loaded(
    subject: str | Path | Mapping[str, Any], root: str | Path | None, plugins: Sequence[PluginSpec]
) -> Scenario:
    """A subject as a scenario; the user's root does not apply to shipped files."""
    is_shipped = isinstance(subject, str | Path) and str(subject) in shipped() | predictions()
    return load(subject, root=None if is_shipped else root, plugins=plugins)


def _is_pattern(subject: str, files: Mapping[str, Path]) -> bool:
    return (
        not is_text(subject)
        and subject not in files
        and not Path(subject).exists()
        and not subject.endswith((".yaml", ".yml"))
    )


def _names(scenario: Scenario) -> list[str]:
    return [expectation.name for expectation in scenario.expectations]
