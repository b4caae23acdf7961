"""Virtual switches and what hangs on them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from hostsim.spec.base import Spec

__all__ = ["VSwitchSpec"]


class VSwitchSpec(Spec):
    """A virtual switch with its uplink."""

    uplinks: Annotated[tuple[str, ...], Field(min_length=1, max_length=1)]
    """Name of the physical NIC (``vmnic0``) that connects the switch."""
