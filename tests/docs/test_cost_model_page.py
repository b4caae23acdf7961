"""The page about the cost model says what the files say now, and keeps the house's bounds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hostsim_docs.cost_model_page import MOST_FITTED, page, shipped_page

import hostsim
from hostsim.analysis.constant import Constant, Origin
from hostsim.analysis.cost_model import shipped_constants
from hostsim.scenario.shipped_data import claims

PAGE = Path(hostsim.__file__).parent.parent / "docs" / "cost-model.md"
FITTED = Constant("a.costs.x", "a", ("costs.x.cycles",), 100.0, "cycles", Origin.FITTED, "", ("splitrx.guest_cpu",))


def test_the_page_is_up_to_date():
    """`make cost-model` writes it."""
    assert PAGE.read_text(encoding="utf-8") == shipped_page()


def test_there_are_no_more_fitted_constants_than_the_model_may_have():
    fitted = [constant for constant in shipped_constants() if constant.is_fitted]
    assert 0 < len(fitted) <= MOST_FITTED


def test_constants_are_fitted_to_claims_that_there_are_and_in_files_where_they_may_stand():
    """The root platform; in guests, what one transaction of an application costs."""
    for constant in shipped_constants():
        assert set(constant.fitted_to) <= set(claims())
        if constant.origin is Origin.FITTED:
            assert constant.file == "esxi" or constant.paths[0].startswith("applications."), constant.name


def test_an_assumption_that_says_it_was_fitted_counts_as_fitted():
    assert replace(FITTED, origin=Origin.ASSUMED, text="Fitted, not measured.", range=(90, 110)).is_fitted
    assert not replace(FITTED, origin=Origin.ASSUMED, text="Not fitted.", range=(90, 110)).is_fitted


def test_what_a_fit_says_goes_into_the_page():
    """Its interval, and the claims that hold the constant; without a fit the page does not pretend."""
    without, with_fit = (
        page([FITTED]),
        page([FITTED], {FITTED.name: (95, 112)}, {FITTED.name: ["splitrx.guest_cpu", "numa.40g.cpu"]}),
    )
    assert "| a.costs.x | 100 cycles | not known | splitrx.guest_cpu | splitrx |" in without
    assert (
        "Of the fitted ones 0 are held by claims of two experiments or more; 1 by claims of one; 0 by none" in without
    )
    assert "| a.costs.x | 100 cycles | 95 to 112 cycles | splitrx.guest_cpu | splitrx, numa-io |" in with_fit
    assert (
        "Of the fitted ones 1 are held by claims of two experiments or more: a.costs.x; 0 by claims of one" in with_fit
    )
