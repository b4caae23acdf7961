"""The chart of a benchmark: cost against VMs, points and workers, each with the law that it follows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from hostsim.engine.record import FloatArray
from tests.bench.scale import HOSTS
from tests.bench.sweep import POINTS
from tests.bench.workers import WORKERS


def power_law(x: FloatArray, y: FloatArray) -> tuple[FloatArray, str]:
    """Fit y = a x^b; returns its values and its text."""
    exponent, offset = np.polyfit(np.log(x), np.log(y), 1)
    return np.exp(offset) * x**exponent, f"proportional to the power {exponent:.2f}"


def line(x: FloatArray, y: FloatArray) -> tuple[FloatArray, str]:
    """Fit y = a + b x, by relative errors; returns its values and its text."""
    slope, start = np.polyfit(x, y, 1, w=1 / y)
    return start + slope * x, f"{start:.2g} + {slope:.2g} for each"


def shared(x: FloatArray, y: FloatArray) -> tuple[FloatArray, str]:
    """Fit y = a + b / x (Amdahl's law); returns its values and its text."""
    divided, rest = np.polyfit(1 / x, y, 1)
    return rest + divided / x, f"{rest:.2g} + {divided:.2g} / workers"


def draw(figures: Mapping[str, float | None], file: Path) -> None:
    """Draw the figures of a benchmark that were measured.

    Args:
        figures: figures by key, see `tests.bench.__main__`.
        file: file to write; its suffix selects the format.
    """
    panels = (
        (
            "VMs",
            "wall s per simulated s",
            {n: f"scale_{name}.wall_per_sim_s" for name, (n, _) in HOSTS.items()},
            power_law,
        ),
        ("tiny points", "processor s beside the runs", {n: f"{name}.beside_s" for name, n in POINTS.items()}, line),
        ("workers", "wall s of four sweeps", {n: f"{name}.wall_s" for name, n in WORKERS.items()}, shared),
    )
    figure = Figure(figsize=(11, 3.4), layout="constrained")
    for axes, (x_label, y_label, keys, law) in zip(figure.subplots(1, 3), panels, strict=True):
        measured = [(n, value) for n, key in keys.items() if (value := figures.get(key)) is not None]
        axes.set(xlabel=x_label, ylabel=y_label, xscale="log", yscale="log")
        if len(measured) > 1:
            x, y = np.array(measured, dtype=float).T
            fitted, text = law(x, y)
            axes.plot(x, y, "o")
            axes.plot(x, fitted, label=text)
            axes.legend()
    figure.savefig(file)
