"""Results, verdicts and differences with HTML representations and plots for Jupyter."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hostsim.engine.record import AxisValues
from hostsim.errors import Fault, InputError, nearest_name
from hostsim.results.compare import Differences as PlainDifferences
from hostsim.results.figure import AnswersSpec, Figure, names_of, point_name
from hostsim.results.results import Results as PlainResults
from hostsim.results.verdicts import Verdicts as PlainVerdicts

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["Differences", "Results", "Verdicts"]


class Verdicts(PlainVerdicts):
    """The verdicts of one or more scenarios, in the order of their expectations; a notebook shows a scoreboard."""

    def _repr_html_(self) -> str:
        from hostsim.views.notebook.result_page import verdicts_html

        return verdicts_html(self, quick=self.quick)


class Differences(PlainDifferences):
    """Paired differences of metrics at points, in the order of the points and of the catalogue; a notebook shows a table."""

    def _repr_html_(self) -> str:
        from hostsim.views.notebook.result_page import differences_html

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
        label: str | None = None,
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
            label: name of these results in the legend of axes that several share; the scenario by default, with what options changed.
            ax: where to draw, together with the results that are drawn there: ``before.plot(...)``, then ``after.plot(..., ax=ax)``
                gives each its own style and name. Without it a new figure is made: one of pyplot's where pyplot is in use, so that notebooks show
                it, and else one that belongs to nobody (``ax.figure.savefig(...)``).

        Raises:
            InputError: there is no such figure, axis, measure or expectation, or no such value; answers in several units;
                the axes show another axis, unit or kind.
        """
        from hostsim.results.curve import curve_spec
        from hostsim.views.plots.figure import draw
        from hostsim.views.plots.style import shown_figure

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
        return draw(self.table, figure, published=self.verdicts, ax=ax, make=shown_figure, name=label or self.label)

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
        from hostsim.views.report.folder import write

        return write(self, Path(folder))

    def report(self, path: str | Path) -> Path:
        """Write the report as one self-contained HTML page, as ``hostsim report`` does; returns its path.

        Raises:
            StoreError: it cannot be written.
        """
        from hostsim.views.report.page import section, write_page

        return write_page(Path(path), [section(self, 0)], title=self.scenario)

    def plot_cpu(self, *, at: AxisValues | None = None, ax: Axes | None = None) -> Axes:
        """Draw where CPU time went, a bar a point: contexts by kind and owner, in percent of all PCPUs.

        Args:
            at: values of axes; all points that have them are drawn. Without it the last point of each series of the figures.
            ax: where to draw; see `plot`.

        Raises:
            InputError: an unknown axis, or a value that no point has.
        """
        from hostsim.views.plots.stacked_bars import draw_stacked_bars
        from hostsim.views.plots.style import shown_figure
        from hostsim.views.report.breakdown import cpu_shares

        return draw_stacked_bars(cpu_shares(self, at), "CPU time (% of all PCPUs)", ax=ax, make=shown_figure)

    def plot_latency(self, *, at: AxisValues | None = None, ax: Axes | None = None) -> Axes:
        """Draw the stages of a round trip, a bar a point, in microseconds; of traffic of kind ``request_response`` only.

        Args:
            at: as of `plot_cpu`.
            ax: where to draw; see `plot`.

        Raises:
            InputError: an unknown axis, a value that no point has, or no point with such traffic.
        """
        from hostsim.views.plots.stacked_bars import draw_stacked_bars
        from hostsim.views.plots.style import shown_figure
        from hostsim.views.report.breakdown import stage_times

        bars = stage_times(self, at)
        if not bars:
            raise InputError(
                Fault("has no traffic of kind request_response, whose stages are known", given=self.scenario)
            )
        return draw_stacked_bars(bars, "Mean time of a round trip (µs)", ax=ax, make=shown_figure)

    def plot_cdf(
        self,
        of: str = "latency",
        *,
        by: str | Sequence[str] = (),
        at: AxisValues | None = None,
        label: str | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the cumulative distribution of a time: the share of packets or requests that took no longer.

        It counts all replications of a point, warm-up left out. `distribution` is the same as a frame.

        Args:
            of: ``latency``, ``response_time`` or ``work_time``.
            by: axes that tell lines apart.
            at: values of the other axes; the first value of the sweep for one that is not named.
            label: name of these results in the legend; the scenario by default, with what options changed.
            ax: where to draw, beside what is there; see `plot`.

        Raises:
            InputError: an unknown time or axis, a value that no point has, or no such time.
            StoreError: the results folder does not hold the runs any more.
        """
        return self._distribution("cdf", of, by, at, label, ax)

    def plot_histogram(
        self,
        of: str = "latency",
        *,
        by: str | Sequence[str] = (),
        at: AxisValues | None = None,
        label: str | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the histogram of a time: the share of packets or requests in each bucket. Buckets are wider where times are longer.

        Args and errors are those of `plot_cdf`.
        """
        return self._distribution("histogram", of, by, at, label, ax)

    def distribution(
        self, of: str = "latency", *, by: str | Sequence[str] = (), at: AxisValues | None = None
    ) -> pd.DataFrame:
        """The distribution of a time as a tidy frame, see `plot_cdf` for arguments and errors.

        Returns:
            A row for each bucket: ``by`` ..., ``low``, ``high`` (its ends), ``count``, ``share`` and ``cumulative`` (percent);
            units in ``attrs["units"]``.
        """
        from hostsim.results.distribution import distribution_frame

        return distribution_frame(self, of, by, at)

    def plot_series(
        self, counter: str, *, at: AxisValues | None = None, replication: int = 0, ax: Axes | None = None
    ) -> Axes:
        """Draw a counter of one run over simulated time, a line for each entity; what was cut as warm-up is shaded.

        Args:
            counter: full name, as in `hostsim.series_frame`: ``queue.inside`` (a level), ``guest.interrupts`` (drawn as a rate),
                ``pcpu.busy_ps`` (a time, drawn as a share of time).
            at: values of axes; the first value of the sweep for one that is not named.
            replication: number of the run at the point, from 0.
            ax: where to draw; see `plot`.

        Raises:
            InputError: an unknown counter or axis, a value or replication that is not there, or a failed run.
            StoreError: the results folder does not hold the run any more.
        """
        from hostsim.views.plots.style import shown_figure
        from hostsim.views.plots.time_series import draw_time_series

        return draw_time_series(self.record(at, replication), counter, ax=ax, make=shown_figure)

    def _distribution(
        self,
        kind: Literal["cdf", "histogram"],
        of: str,
        by: str | Sequence[str],
        at: AxisValues | None,
        label: str | None,
        ax: Axes | None,
    ) -> Axes:
        from hostsim.results.table import as_written
        from hostsim.views.plots.distribution import draw_distribution
        from hostsim.views.plots.style import shown_figure

        frame = as_written(self.distribution(of, by=by, at=at))
        keys = [by] if isinstance(by, str) else list(by)
        names = names_of(self.figures)
        series = []
        for rows in [rows for _, rows in frame.groupby(keys, sort=False)] if keys else [frame]:
            words = [point_name(names, axis, rows[axis].iloc[0]) for axis in keys]
            own = [label or self.label] if label or ax is not None or not words else []
            series.append((", ".join([*own, *words]), rows))
        return draw_distribution(series, of, kind, ax=ax, make=shown_figure)

    @property
    def label(self) -> str:
        """Name of these results in legends: the scenario, and what options changed."""
        changes = self.provenance.get("set", "")
        return f"{self.scenario}, {changes}" if changes else self.scenario

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
        from hostsim.views.plots.answer_bars import require_answers

        figure = AnswersSpec("answers", (answers,) if isinstance(answers, str) else tuple(answers))
        require_answers(figure, self.verdicts)
        return figure

    def _repr_html_(self) -> str:
        from hostsim.views.notebook.result_page import results_html

        return results_html(self)
