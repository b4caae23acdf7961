"""What-if comparison with an HTML representation and plots for Jupyter."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hostsim.campaign.what_if import WhatIf as PlainWhatIf
from hostsim.results.metrics.catalogue import SIDE
from hostsim.views.notebook.results import Differences, Results, Verdicts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["WhatIf"]


class WhatIf(PlainWhatIf):
    """What-if comparison: a scenario before and after a change, with plots; a notebook shows the significant differences."""

    before: Results
    after: Results
    differences: Differences

    @classmethod
    def of(cls, plain: PlainWhatIf) -> WhatIf:
        """The same comparison, with plots and an HTML representation."""
        differences = Differences(plain.differences)
        shown = {"before": Results.of(plain.before), "after": Results.of(plain.after), "differences": differences}
        return cls(**vars(plain) | shown)

    def plot(self, metric: str, *, x: str | None = None, by: str | Sequence[str] = (), ax: Axes | None = None) -> Axes:
        """Plot a metric before and after, with 95 % intervals: lines against an axis, or one bar each.

        Args:
            metric: of the catalogue.
            x: an axis of the sweep; by default the first that still has several values.
            by: axes that tell lines apart.
            ax: where to draw; a new figure by default.

        Raises:
            InputError: an unknown axis or metric.
        """
        whole = dataclasses.replace(self.before, table=self.table, figures=(), verdicts=Verdicts())
        varied = [axis for axis in whole.axes if axis != SIDE and len(set(whole.table[axis].astype(str))) > 1]
        series = (by,) if isinstance(by, str) else tuple(by)
        if x is None and not varied:
            return whole.plot(x=SIDE, y=metric, by=series, kind="bar", ax=ax)
        return whole.plot(x=x or varied[0], y=metric, by=(SIDE, *series), ax=ax)

    def _repr_html_(self) -> str:
        from hostsim.views.notebook.result_page import differences_html

        return differences_html(self.differences.certain, self.question, self.notes)
