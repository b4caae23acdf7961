"""The chart of a benchmark: cost against VMs, points and workers, each with the law that it follows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from hostsim.config.files import write_whole
from hostsim.engine.record import FloatArray
from hostsim.views.plots.style import as_svg, house_style, look_of
from tests.bench.scale import HOSTS
from tests.bench.sweep import POINTS
from tests.bench.workers import WORKERS

Figures = Mapping[str, float | None]


def power_law(x: FloatArray, y: FloatArray) -> tuple[FloatArray, str]:
    """Fit y = a x^b; returns its values and its text."""
    exponent, offset = np.polyfit(np.log(x), np.log(y), 1)
    return np.exp(offset) * x**exponent, f"proportional to the power {exponent:.2f}"


def line(x: FloatArray, y: FloatArray) -> tuple[FloatArray, str]:
    """Fit y = a + b x, by relative errors; returns its values and its text."""
    slope, start = np.polyfit(x, y, 1, w=1 / y)
    return start + slope * x, f"{start:.2g} s + {slope * 1e3:.2g} ms for each"


def shared(x: FloatArray, y: FloatArray) -> tuple[FloatArray, str]:
    """Fit y = a + b / x (Amdahl's law); returns its values and its text."""
    divided, rest = np.polyfit(1 / x, y, 1)
    return rest + divided / x, f"{rest:.2g} s + {divided:.2g} s / workers"


@dataclass(frozen=True)
class Panel:
    """A panel of the chart."""

    x_label: str
    y_label: str
    keys: Mapping[int, str]
    """Figure at each value of x."""
    law: Callable[[FloatArray, FloatArray], tuple[FloatArray, str]]
    most: int | None = None
    """Largest x of the fit; None for all."""
    is_log: bool = True
    """True for a logarithmic vertical axis."""

    def measured(self, figures: Figures) -> tuple[FloatArray, FloatArray]:
        """The figures that were measured: x and y."""
        found = [(n, value) for n, key in self.keys.items() if (value := figures.get(key)) is not None]
        x, y = np.array(found, dtype=float).reshape(-1, 2).T
        return x, y

    def fitted(self, figures: Figures) -> tuple[FloatArray, FloatArray, str] | None:
        """The law's x, y and text; None for fewer than two figures."""
        x, y = self.measured(figures)
        inside = x <= (self.most or np.inf)
        if inside.sum() < 2:
            return None
        values, text = self.law(x[inside], y[inside])
        return x[inside], values, text


def panels(processors: int | None = None) -> tuple[Panel, ...]:
    """The panels: VMs, tiny points, workers.

    Args:
        processors: more workers than these are outside the law; None for no limit.
    """
    return (
        Panel(
            "VMs",
            "processor s per simulated s",
            {n: f"scale_{name}.processor_per_sim_s" for name, (n, _) in HOSTS.items()},
            power_law,
        ),
        Panel(
            "tiny points", "processor s beside the runs", {n: f"{name}.beside_s" for name, n in POINTS.items()}, line
        ),
        Panel(
            "workers",
            "wall s of four sweeps",
            {n: f"{key}.wall_s" for key, n in WORKERS.items()},
            shared,
            processors,
            is_log=False,
        ),
    )


def draw(figures: Figures, file: Path, processors: int | None = None) -> None:
    """Draw the figures of a benchmark that were measured, as SVG.

    Args:
        figures: figures by key, see `tests.bench.__main__`.
        file: file to write.
        processors: processors of the machine, for the law of workers.
    """
    look = look_of(0)
    with house_style():
        figure = Figure(figsize=(9.375, 2.9), layout="constrained")
        for axes, panel in zip(figure.subplots(1, 3), panels(processors), strict=True):
            axes.set(xlabel=panel.x_label, ylabel=panel.y_label, xscale="log")
            x, y = panel.measured(figures)
            axes.plot(x, y, look.marker, color=look.colour)
            axes.set_xticks(x, [f"{n:,.0f}" for n in x])
            axes.xaxis.set_minor_formatter(NullFormatter())
            if panel.is_log:
                axes.set_yscale("log")
                axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
                axes.yaxis.set_major_formatter("{x:g}")
                axes.yaxis.set_minor_formatter(NullFormatter())
            if fit := panel.fitted(figures):
                axes.plot(*fit[:2], color=look.colour)
                axes.set_title(fit[2])
            if not panel.is_log:
                axes.set_ylim(bottom=0)
    write_whole(file, as_svg(figure).encode())
