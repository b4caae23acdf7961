"""Calibration of your own host for Jupyter: determined numbers, residuals, predictions and the next measurement as frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hostsim.lab.calibration.calibrated import Calibrated

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["Calibration"]


@dataclass(frozen=True)
class Calibration:
    """Calibration of your own host; a notebook shows the numbers that the data determined."""

    found: Calibrated
    parts: Mapping[str, Mapping[str, Path]]
    """Files of platforms, servers, peers and guests with calibrated constants, by path of the setting that names the part, and by its name there."""

    @property
    def folder(self) -> Path:
        """All written files."""
        return self.found.joint.folder

    @property
    def learnt(self) -> pd.DataFrame:
        """Prior and posterior of each number by name, the best known first: 5, 50 and 95 %; the remaining share of the prior's standard deviation, and whether the data determined it."""
        import pandas as pd

        held = {one.name for one in self.found.held}
        rows = [
            (one.name, one.unit, *one.prior, *one.posterior, one.moved, one.kept, one.name in held)
            for one in sorted(self.found.summary.learnt, key=lambda one: one.kept)
        ]
        ends = [f"{which}_{end}" for which in ("prior", "posterior") for end in ("low", "median", "high")]
        return pd.DataFrame(rows, columns=["name", "unit", *ends, "moved", "kept", "held"]).set_index("name")

    @property
    def residuals(self) -> pd.DataFrame:
        """Each measurement beside the ensemble: 5, 50 and 95 %."""
        import pandas as pd

        return pd.DataFrame([asdict(one) for one in self.found.residuals]).set_index("name")

    @property
    def predictions(self) -> pd.DataFrame:
        """Predictions without a measurement, one row for each metric and point: 5, 50 and 95 % of the ensemble; axes are numbers with units in ``attrs``, as in the table of a run."""
        import pandas as pd

        from hostsim.results.table import as_numbers

        host = self.found.host
        found = [] if host is None else host.predictions()
        rows = [
            {"metric": one.metric, **one.at, "low": one.low, "median": one.median, "high": one.high} for one in found
        ]
        return as_numbers(pd.DataFrame(rows), found[0].at if found else ())

    @property
    def next_measurements(self) -> pd.DataFrame:
        """Possible next measurements, the best first: the share of the prediction's standard deviation that each would remove."""
        import pandas as pd

        return pd.DataFrame([asdict(one) for one in self.found.next], columns=["name", "narrows"]).set_index("name")

    @property
    def ensemble(self) -> pd.DataFrame:
        """Values of constants and inputs, one row for each member."""
        import pandas as pd

        return pd.DataFrame.from_dict(dict(self.found.ensemble), orient="index").rename_axis("member")

    def plot(self) -> Axes:
        """Draw the residuals, into a figure of pyplot if that is in use, so that notebooks show it."""
        from hostsim.views.plots.style import shown_figure

        return self.found.draw(shown_figure())

    def _repr_html_(self) -> str:
        return self.learnt.query("held").drop(columns="held").to_html(float_format="{:.3g}".format)
