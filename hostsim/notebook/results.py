"""Results, verdicts and differences with HTML representations and plots for Jupyter."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hostsim.errors import Fault, InputError, nearest_name
from hostsim.figure import AnswersSpec, Figure, names_of
from hostsim.record import AxisValues
from hostsim.results.differences import Differences as PlainDifferences
from hostsim.results.results import Results as PlainResults
from hostsim.results.verdicts import Verdicts as PlainVerdicts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Differences", "Results", "Verdicts"]


class Verdicts(PlainVerdicts):
    """The verdicts of one or more scenarios, in the order of their expectations; a notebook shows a scoreboard."""

    def _repr_html_(self) -> str:
        from hostsim.notebook.result_page import verdicts_html

        return verdicts_html(self, quick=self.quick)


class Differences(PlainDifferences):
    """Paired differences of metrics at points, in the order of the points and of the catalogue; a notebook shows a table."""

    def _repr_html_(self) -> str:
        from hostsim.notebook.result_page import differences_html

        return differences_html(self)


class Results(PlainResults):
    """Results of a scenario: tidy frames, plots of its figures, verdicts and provenance; a notebook shows a page.

    Frames have the units of their columns in ``attrs["units"]``.
    """

    verdicts: Verdicts

    @classmethod
    def of(cls, plain: PlainResults) -> Results:
        """The same results, with plots and an HTML representation."""
        return cls(**vars(plain) | {"verdicts": Verdicts(plain.verdicts, quick=plain.quick)})

    def plot(
        self,
        name: str | None = None,
        *,
        x: str | None = None,
        y: str | None = None,
        by: str | Sequence[str] = (),
        at: AxisValues | None = None,
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
        from hostsim.results.curve import curve_spec

        figure: Figure
        if answers and (name, x, y, at, right) == (None,) * 5 and not by:
            figure = self._answers(answers)
        elif answers:
            raise InputError(Fault("ask for answers by themselves", "answers", str(answers)))
        elif x is not None and y is not None and name is None:
            figure = curve_spec(self.table, x, y, by, at, kind, right, names_of(self.figures))
        elif x is None and y is None and at is None and not by:
            figure = self._figure(name)
        else:
            raise InputError(
                Fault("ask for a figure by its name, or for x and y with by and at, or for answers", given=name or "")
            )
        return draw(self.table, figure, published=self.verdicts, ax=ax, make=shown_figure)

    def save(self, folder: str | Path) -> list[Path]:
        """Write tables, facts and figures as a folder, as ``hostsim run`` does; `open_results`, ``hostsim plot`` and ``hostsim report`` read it.

        Records stay in the results folder that keeps every run.

        Args:
            folder: where; files of the same names are replaced.

        Returns:
            The files.

        Raises:
            StoreError: the folder cannot be written.
        """
        from hostsim.report.folder import write

        return write(self, Path(folder))

    def report(self, path: str | Path) -> Path:
        """Write the report as one self-contained HTML page, as ``hostsim report`` does; returns its path.

        Raises:
            StoreError: it cannot be written.
        """
        from hostsim.report.page import section, write_page

        return write_page(Path(path), [section(self, 0)], title=self.scenario)

    def plot_cpu(self, *, at: AxisValues | None = None, ax: Axes | None = None) -> Axes:
        """Draw where CPU time went, a bar a point: contexts by kind and owner, in percent of all PCPUs.

        Args:
            at: values of axes; all points that have them are drawn. Without it the last point of each series of the figures.
            ax: where to draw; see `plot`.

        Raises:
            InputError: an unknown axis, or a value that no point has.
        """
        from hostsim.plots.stacked_bars import draw_stacked_bars
        from hostsim.plots.style import shown_figure
        from hostsim.report.breakdown import cpu_shares

        return draw_stacked_bars(cpu_shares(self, at), "CPU time (% of all PCPUs)", ax=ax, make=shown_figure)

    def plot_latency(self, *, at: AxisValues | None = None, ax: Axes | None = None) -> Axes:
        """Draw the stages of a round trip, a bar a point, in microseconds; of traffic of kind ``request_response`` only.

        Args:
            at: as of `plot_cpu`.
            ax: where to draw; see `plot`.

        Raises:
            InputError: an unknown axis, a value that no point has, or no point with such traffic.
        """
        from hostsim.plots.stacked_bars import draw_stacked_bars
        from hostsim.plots.style import shown_figure
        from hostsim.report.breakdown import stage_times

        bars = stage_times(self, at)
        if not bars:
            raise InputError(
                Fault("has no traffic of kind request_response, whose stages are known", given=self.scenario)
            )
        return draw_stacked_bars(bars, "mean time of a round trip (us)", ax=ax, make=shown_figure)

    def _figure(self, name: str | None) -> Figure:
        names = [figure.name for figure in self.figures]
        for figure in self.figures:
            if name in (None, figure.name):
                return figure
        allowed = ", ".join(names) or "x and y: the scenario has no figures"
        raise InputError(
            Fault("no such figure", given=name or "", allowed=allowed, nearest=nearest_name(name or "", names))
        )

    def _answers(self, answers: str | Sequence[str]) -> AnswersSpec:
        from hostsim.plots.answer_bars import require_answers

        figure = AnswersSpec("answers", (answers,) if isinstance(answers, str) else tuple(answers))
        require_answers(figure, self.verdicts)
        return figure

    def _repr_html_(self) -> str:
        from hostsim.notebook.result_page import results_html

        return results_html(self)
