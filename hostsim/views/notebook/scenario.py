"""Loaded scenario with an HTML representation for Jupyter and its host as a drawing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hostsim.engine.record import AxisValues
from hostsim.scenario.scenario import Scenario as PlainScenario

if TYPE_CHECKING:
    from hostsim.views.notebook.host import HostView

__all__ = ["Scenario"]


class Scenario(PlainScenario):
    """A loaded scenario, checked whole; a notebook shows a page."""

    @classmethod
    def of(cls, plain: PlainScenario) -> Scenario:
        """The same scenario."""
        return cls(**vars(plain))

    def host(self, at: AxisValues | None = None) -> HostView:
        """The host at one point, built and not run: what it consists of, as a drawing and as a frame.

        Args:
            at: values of axes; one that is not named has the first value of its sweep.

        Raises:
            InputError: an unknown axis, or a value that cannot be.
        """
        from hostsim.views.notebook.host import HostView

        return HostView.of(self, at or {})

    def __repr__(self) -> str:
        return f"<Scenario {self.name}: {self.question}>"

    def _repr_html_(self) -> str:
        from hostsim.views.notebook.scenario_page import scenario_html

        return scenario_html(self)
