"""The page of experiments that were left out says what was found without them."""

from __future__ import annotations

from pathlib import Path

from hostsim_docs.leave_one_out_page import page

import hostsim
from hostsim.analysis.cost_model import shipped_constants
from hostsim.calibration.fit import Prediction, shipped_predictions
from hostsim.scenario.shipped_data import claims

PAGE = Path(hostsim.__file__).parent.parent / "docs" / "leave-one-out.md"


def test_the_page_is_up_to_date():
    """`make cost-model` writes it."""
    assert PAGE.read_text(encoding="utf-8") == page(shipped_predictions())


def test_every_experiment_was_left_out_once_and_predicted_whole():
    found = {prediction.experiment: set(prediction.values) for prediction in shipped_predictions()}
    experiments = {claim.experiment for claim in claims().values()}
    assert found == {
        name: {claim.id for claim in claims().values() if claim.experiment == name} for name in experiments
    }


def test_what_was_fitted_to_an_experiment_is_fitted_again_without_it():
    """With the claims gone, its constants are not what the shipped fit made them."""
    shipped = {constant.name: constant for constant in shipped_constants()}
    for prediction in shipped_predictions():
        names = {name for name, constant in shipped.items() if constant.fitted_to}
        lost = {n for n in names if any(claims()[c].experiment == prediction.experiment for c in shipped[n].fitted_to)}
        assert lost <= set(prediction.constants), prediction.experiment


def test_what_is_out_is_said_to_be_out():
    """A value outside its band, and one that was not found; the summary counts both."""
    name = next(iter(shipped_constants())).name
    wrong = Prediction("splitrx", {name: 1.0}, {"splitrx.default.40k": 99.0, "splitrx.default.30k": None})
    text = page([wrong])
    assert "| splitrx | 1 constant | 0 of 2 |" in text
    assert text.count("**out**") == 2
    right = Prediction("splitrx", {}, {"splitrx.default.40k": 20.0})
    assert "| splitrx | 0 constants | 1 of 1 |" in page([right])
    assert "**out**" not in page([right])
