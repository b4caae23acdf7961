"""A loaded scenario as one works with it in a notebook: it shows itself, its points and its host."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING

from hostsim.record import Scalar
from hostsim.scenario.scenario import Scenario as PlainScenario

if TYPE_CHECKING:
    import pandas as pd

    from hostsim.view.host import HostView

__all__ = ["Scenario"]


class Scenario(PlainScenario):
    """A scenario that has been checked whole, and that shows itself."""

    @classmethod
    def of(cls, plain: PlainScenario) -> Scenario:
        """The same scenario."""
        return cls(**{entry.name: getattr(plain, entry.name) for entry in dataclasses.fields(plain)})

    def host(self, at: Mapping[str, Scalar] | None = None) -> HostView:
        """The host at one point, built and not run: what it consists of, as a drawing and as a frame.

        Args:
            at: values of axes; one that is not named has the first value of its sweep.

        Raises:
            InputError: an unknown axis, or a value that cannot be.
        """
        from hostsim.view.host import HostView

        return HostView.of(self, at or {})

    def settings_frame(self) -> pd.DataFrame:
        """Every setting in force: ``name`` (the path that overrides take), ``value`` as written, ``origin``."""
        import pandas as pd

        return pd.DataFrame(
            [(row.name, str(row.value), row.origin) for row in self.settings], columns=["name", "value", "origin"]
        )

    def __repr__(self) -> str:
        return f"<Scenario {self.name}: {self.question}>"

    def _repr_html_(self) -> str:
        from hostsim.view.page import scenario_html

        return scenario_html(self)
