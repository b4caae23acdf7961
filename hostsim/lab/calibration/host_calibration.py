"""Calibration of your own host, from options to files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from hostsim.campaign.pipeline import ExecutionOptions
from hostsim.config.files import display_name, require_folder
from hostsim.config.quantity import read_quantity
from hostsim.errors import Fault, InputError, is_integer
from hostsim.lab.calibration.calibrated import Calibrated, calibrated
from hostsim.lab.calibration.design import Evaluated
from hostsim.lab.calibration.emulator import LEAST as LEAST_MEMBERS
from hostsim.lab.calibration.emulator import require_library
from hostsim.lab.calibration.joint import WAVE, Waves
from hostsim.lab.calibration.measured import read_measured, read_prediction
from hostsim.lab.calibration.own_host import OwnHost, calibrate_host, prepare
from hostsim.scenario.scenario import Scenario

__all__ = ["calibrate_own", "own_host", "own_reason", "read_budget", "read_waves"]

FOLDER = "calibration"
"""Default folder in the results folder, with a folder for each scenario."""


def read_budget(budget: str | float, members: Sequence[int] | None) -> float | Waves:
    """A budget in seconds of processor time, or the sizes of waves.

    Raises:
        InputError: the text is neither.
    """
    if members is not None:
        return read_waves(members)
    try:
        seconds = read_quantity(budget, "duration") if isinstance(budget, str) else float(budget)
    except ValueError as error:
        message, _, allowed = str(error).partition("|")
        raise InputError(Fault(message, "--budget", repr(budget), allowed)) from None
    if not seconds > 0:
        raise InputError(Fault("is not a budget", "--budget", repr(budget), "a time above 0"))
    return seconds


def read_waves(members: Sequence[int]) -> Waves:
    """Sizes of the waves.

    Raises:
        InputError: too few waves, or too small or large ones.
    """
    first, *others = members or (0,)
    if not (
        others
        and all(map(is_integer, members))
        and LEAST_MEMBERS <= first <= WAVE
        and all(1 < n <= WAVE for n in others)
    ):
        allowed = f"at least two numbers: the design, {LEAST_MEMBERS} to {WAVE}, and waves of 2 to {WAVE} hosts, such as 160,50,50"
        raise InputError(Fault("is not a list of wave sizes", "--members", ",".join(map(str, members)), allowed))
    return Waves(int(first), tuple(map(int, others)))


def own_host(
    scenario: Scenario,
    to: str | Path | None,
    output: str | Path | None,
    execution: ExecutionOptions,
    *,
    predict: str | None = None,
    seed: int = 1,
) -> OwnHost:
    """Prepare a calibration to your own host: nothing is run.

    Args:
        scenario: the host with its known values.
        to: CSV file of measurements; None for the scenario's expectations.
        output: folder; None for one in the results folder.
        execution: with the results folder.
        predict: ``METRIC@axis=value``.
        seed: root seed.

    Raises:
        InputError: a measurement or prediction is impossible, scikit-learn is not installed, or the hardware is a mapping in the
            scenario.
        StoreError: the folder cannot be written.
    """
    require_library()
    if scenario.resolver.parts.in_place is not None:  # a calibration writes part files
        message = "hardware is part of the scenario; a calibration needs a file to extend"
        raise InputError(Fault(message, "hardware", allowed="the name of a server, or the path of a hardware file"))
    measured = scenario.expectations if to is None else read_measured(Path(to), scenario)
    wanted = None if predict is None else read_prediction(predict, scenario)
    folder = execution.store.folder / FOLDER / scenario.name if output is None else Path(output)
    require_folder(folder)
    return prepare(scenario, measured, folder, predicted=wanted, seed=seed)


def own_reason(to: str | Path | None, scenario: Scenario) -> str:
    """Reason for the value of a constant in your own part."""
    what = f"what {scenario.name} expects" if to is None else display_name(Path(to))
    return f"Calibrated to {what}; the range holds 90 % of the ensemble."


def calibrate_own(
    scenario: Scenario,
    to: str | Path | None,
    budget: float | Waves,
    execution: ExecutionOptions,
    *,
    output: str | Path | None = None,
    predict: str | None = None,
    seed: int = 1,
    tell: Callable[[Evaluated], None] | None = None,
) -> tuple[Calibrated, Mapping[str, Mapping[str, Path]]]:
    """Calibrate your own host, and write the result.

    Args:
        scenario: as for `own_host`, as are ``to``, ``output``, ``predict`` and ``seed``.
        to: measurements.
        budget: from `read_budget`.
        execution: workers and limits.
        output: folder.
        predict: the measure to predict.
        seed: root seed.
        tell: called with each finished host.

    Returns:
        The result, and the part files by path of the setting that names the part, and by its name there.

    Raises:
        InputError: as `own_host` and `calibrate_host`.
        StoreError: the folder cannot be written.
        KeyboardInterrupt: Ctrl-C; finished hosts are kept.
    """
    host = own_host(scenario, to, output, execution, predict=predict, seed=seed)
    calibrate_host(host, execution, budget, tell)
    found = calibrated(host.joint, host)
    return found, found.write([scenario], own_reason(to, scenario))
