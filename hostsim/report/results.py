"""Results of one scenario: tables, verdicts, figures, and what they rest on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from hostsim.errors import Fault, InputError, nearest_name
from hostsim.expect import AnswersSpec, FigureSpec
from hostsim.record import RunRecord, Scalar
from hostsim.report.verdicts import Verdicts

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["Assumption", "Cost", "Results", "Setting"]


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting in force and who says so."""

    name: str
    value: str
    origin: str


@dataclass(frozen=True, slots=True)
class Assumption:
    """An input that nobody published."""

    path: str
    value: str
    reason: str
    range: str


@dataclass(frozen=True, slots=True)
class Cost:
    """What the runs behind the results took, those of searches included."""

    runs: int = 0
    simulated_s: float = 0.0
    dispatches: int = 0
    wall_s: float = 0.0
    """Wall-clock seconds of all runs added up, whenever they were made and however many ran side by side."""


def _no_contexts() -> pd.DataFrame:
    from hostsim.results.context import fullest_contexts

    return fullest_contexts(())


def _no_time() -> pd.DataFrame:
    from hostsim.results.cpu_time import cpu_by_point

    return cpu_by_point(())


@dataclass(frozen=True, repr=False)
class Results:
    """Everything that came out of one scenario: tidy frames, figures, verdicts, and what they rest on.

    Frames say the units of their columns in ``attrs["units"]``. A notebook shows results as a page.
    """

    scenario: str
    question: str
    table: pd.DataFrame
    """One row a point of the sweep and replication: ``point``, ``replication``, ``seed``, the axes, every measure of the
    catalogue in its unit (`hostsim.CATALOGUE`, `hostsim metrics`), ``cut_s`` and ``length_s`` in simulated seconds,
    ``bottleneck``, ``flags``, ``error``."""
    figures: tuple[FigureSpec | AnswersSpec, ...] = ()
    verdicts: Verdicts = field(default_factory=Verdicts)
    """What the scenario expects, with its answers; those of which no runs were made are ``missing``."""
    settings: tuple[Setting, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    warnings: tuple[str, ...] = ()
    provenance: Mapping[str, str] = field(default_factory=dict)
    changed: Mapping[str, str] = field(default_factory=dict)
    """What options changed of the host, by dotted path; what was published is not about such a host."""
    quick: bool = False
    cost: Cost = field(default_factory=Cost)
    contexts: pd.DataFrame = field(default_factory=_no_contexts)
    """The fullest contexts of each point of the sweep (``point``), in its first replication: columns of
    `hostsim.results.context.contexts`, which has all of them of a record."""
    cpu: pd.DataFrame = field(default_factory=_no_time)
    """Where the CPU time of each point went, means of its replications: ``point`` and the columns of `hostsim.results.cpu_time.cpu_time`."""
    records: tuple[RunRecord, ...] = ()
    """The runs themselves, those of searches included; empty when read from a folder."""

    @property
    def axes(self) -> list[str]:
        """The axes of the sweep, in the order of the scenario."""
        from hostsim.results.table import axes_of

        return axes_of(self.table)

    @property
    def failed(self) -> pd.DataFrame:
        """Rows of the runs that came to nothing, their traceback under ``error``."""
        return self.table[self.table["error"].notna() & (self.table["error"] != "")]

    @property
    def mark(self) -> str:
        """What stands behind the scenario's name wherever it shows: that runs of it have failed, that its host was changed, or nothing."""
        words = [word for word, holds in (("partial", len(self.failed)), ("changed", self.changed)) if holds]
        return f" ({', '.join(words)})" if words else ""

    def curve(
        self,
        *,
        x: str,
        y: str,
        by: str | Sequence[str] = (),
        at: Mapping[str, Scalar] | None = None,
    ) -> pd.DataFrame:
        """A measure against an axis as a tidy frame: the mean of the replications and its interval.

        Args:
            x: an axis.
            y: a measure of the catalogue.
            by: axes that tell lines apart.
            at: values of the other axes; one that is not named stands at the first value of the sweep.

        Returns:
            Columns ``by`` ..., ``x``, ``mean``, ``low`` and ``high`` (ends of the 95 % Student interval; NaN of a single
            replication), in the unit of y, and ``runs``, in the order of the sweep; units in ``attrs["units"]``.

        Raises:
            InputError: an unknown axis, an unknown measure, or a value that the sweep does not have.
        """
        from hostsim.plots.series import curve_frame

        return curve_frame(self.table, self._asked(x, y, by, at))

    def plot(
        self,
        name: str | None = None,
        *,
        x: str | None = None,
        y: str | None = None,
        by: str | Sequence[str] = (),
        at: Mapping[str, Scalar] | None = None,
        kind: Literal["line", "bar"] = "line",
        right: str | None = None,
        answers: str | Sequence[str] = (),
        ax: Axes | None = None,
    ) -> Axes:
        """Draw one of the scenario's figures, the first where nothing is given, or a curve or answers of one's own choice.

        What was published is drawn beside the means and their 95 % intervals.

        Args:
            name: of a figure of the scenario; x and y, or answers, instead of it are a figure of one's own.
            x: an axis.
            y: a measure of the catalogue.
            by: axes that tell lines, or bars, apart.
            at: values of the other axes; one that is not named stands at the first value of the sweep.
            kind: ``bar`` draws a group of bars at each value of x.
            right: a second measure, on an axis of its own on the right.
            answers: names of expectations, by themselves: a bar for each answer, with its interval and, of a claim, the accepted band.
            ax: where to draw. Without it a new figure is made: one of pyplot's where pyplot is in use, so that notebooks show
                it, and else one that belongs to nobody (``ax.figure.savefig(...)``).

        Raises:
            InputError: there is no such figure, axis, measure or expectation, or no such value; answers in several units.
        """
        from hostsim.plots.figure import draw
        from hostsim.plots.style import shown_figure

        figure: FigureSpec | AnswersSpec
        if answers and (name, x, y, at, right) == (None,) * 5 and not by:
            figure = self._answers(answers)
        elif answers:
            raise InputError(Fault("ask for answers by themselves", "answers", str(answers)))
        elif x is not None and y is not None and name is None:
            figure = self._asked(x, y, by, at, kind, right)
        elif x is None and y is None and at is None and not by:
            figure = self._figure(name)
        else:
            raise InputError(
                Fault("ask for a figure by its name, or for x and y with by and at, or for answers", given=name or "")
            )
        return draw(self.table, figure, published=self.verdicts, ax=ax, make=shown_figure)

    def plot_cpu(self, *, at: Mapping[str, Scalar] | None = None, ax: Axes | None = None) -> Axes:
        """Draw where CPU time went, a bar a point: contexts by kind and owner, in percent of all PCPUs.

        Args:
            at: values of axes; all points that have them are drawn. Without it the last point of each series of the figures.
            ax: where to draw; see `plot`.

        Raises:
            InputError: an unknown axis, or a value that no point has.
        """
        from hostsim.plots.share import draw_shares
        from hostsim.plots.style import shown_figure
        from hostsim.report.breakdown import cpu_shares

        return draw_shares(cpu_shares(self, at), "CPU time (% of all PCPUs)", ax=ax, make=shown_figure)

    def plot_latency(self, *, at: Mapping[str, Scalar] | None = None, ax: Axes | None = None) -> Axes:
        """Draw the stages of a round trip, a bar a point, in microseconds; of traffic of kind ``request_response`` only.

        Args:
            at: as of `plot_cpu`.
            ax: where to draw; see `plot`.

        Raises:
            InputError: an unknown axis, a value that no point has, or no point with such traffic.
        """
        from hostsim.plots.share import draw_shares
        from hostsim.plots.style import shown_figure
        from hostsim.report.breakdown import stage_times

        bars = stage_times(self, at)
        if not bars:
            raise InputError(
                Fault("has no traffic of kind request_response, whose stages are known", given=self.scenario)
            )
        return draw_shares(bars, "mean time of a round trip (us)", ax=ax, make=shown_figure)

    def _figure(self, name: str | None) -> FigureSpec | AnswersSpec:
        names = [figure.name for figure in self.figures]
        for figure in self.figures:
            if name in (None, figure.name):
                return figure
        allowed = ", ".join(names) or "x and y: the scenario has no figures"
        raise InputError(
            Fault("no such figure", given=name or "", allowed=allowed, nearest=nearest_name(name or "", names))
        )

    def _answers(self, answers: str | Sequence[str]) -> AnswersSpec:
        from hostsim.plots.answer import require_answers

        figure = AnswersSpec("answers", (answers,) if isinstance(answers, str) else tuple(answers))
        require_answers(figure, self.verdicts)
        return figure

    def _asked(
        self,
        x: str,
        y: str,
        by: str | Sequence[str],
        at: Mapping[str, Scalar] | None,
        kind: Literal["line", "bar"] = "line",
        right: str | None = None,
    ) -> FigureSpec:
        from hostsim.plots.figure import require
        from hostsim.plots.scale import rows_at

        series = (by,) if isinstance(by, str) else tuple(by)
        figure = FigureSpec(f"{y} against {x}", x, y, series, dict(at or {}), kind, right)
        require(self.table, figure)
        rows_at(self.table, figure.at)  # a value that is not there is a fault
        return figure

    def __repr__(self) -> str:
        points, failed = self.table["point"].nunique(), len(self.failed)
        fidelity = "quick" if self.quick else "full"
        words = f"{points} points, {len(self.table)} runs{f', {failed} failed' if failed else ''}, {fidelity} fidelity"
        return f"<Results of {self.scenario}: {words}>"

    def _repr_html_(self) -> str:
        from hostsim.report.notebook import results_html

        return results_html(self)
