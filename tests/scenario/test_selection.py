"""Subjects of a check: names, files and patterns, restricted to the requested expectations and their operands."""

from __future__ import annotations

import pytest

from hostsim.errors import InputError
from hostsim.scenario.selection import restrict, select
from hostsim.scenario.shipped_data import shipped
from tests.loaded import loaded


@pytest.fixture(scope="module")
def scenarios():
    return {name: loaded(name) for name in shipped()}


def names_of(selected) -> dict[str, set[str]]:
    return {scenario.name: set(names) for scenario, names in selected}


def names(scenario) -> set[str]:
    return {expectation.name for expectation in scenario.expectations}


def test_nothing_said_means_everything_shipped(scenarios):
    """A bare `check` is the whole scoreboard."""
    assert names_of(select()) == {name: names(scenario) for name, scenario in scenarios.items()}


def test_a_pattern_picks_by_name_over_all_scenarios(scenarios):
    """Claim ids are selected like files in a shell."""
    claims = {e.name: s.name for s in scenarios.values() for e in s.expectations if e.is_claim}
    some = next(iter(claims))
    assert names_of(select(some)) == {claims[some]: {some}}
    picked = names_of(select(some.split(".")[0] + ".*"))
    assert set().union(*picked.values()) == {name for name in claims if name.startswith(some.split(".")[0] + ".")}


def test_several_subjects_of_one_scenario_are_one_check(scenarios):
    """Nothing is asked twice."""
    name = next(name for name, scenario in scenarios.items() if len(scenario.expectations) > 2)
    first, second, *_ = (entry.name for entry in scenarios[name].expectations)
    assert names_of(select(first, second, first)) == {name: {first, second}}
    assert names_of(select(first, name)) == {name: names(scenarios[name])}


def test_a_ratio_brings_what_it_is_computed_from():
    """Operands that were not requested are run if needed, but not shown; for a ratio of ratios, the parts of both."""
    for scenario, _ in select():
        forms = {expectation.name: expectation.form for expectation in scenario.expectations}

        def needed(name, forms=forms):
            sides = [getattr(forms[name], side, None) for side in ("of", "to")]
            return {name}.union(*(needed(side, forms) for side in sides if isinstance(side, str)))

        for name in forms:
            assert names(restrict(scenario, [name])) == needed(name)


def test_what_is_no_scenario_and_no_claim_is_told_all_at_once():
    """Each unknown subject has a fault with the nearest known name."""
    near = next(iter(shipped()))
    with pytest.raises(InputError) as caught:
        select(near + "x", "zzz.*")
    assert [fault.nearest for fault in caught.value.faults] == [near, ""]
