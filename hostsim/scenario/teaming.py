"""Teaming and port groups: the uplinks that each virtual switch and port group uses, from the order of its adapters and the links that are down."""

from __future__ import annotations

from collections.abc import Mapping

from hostsim.config.nic import VSwitchSpec

__all__ = ["OF_SWITCH", "in_use", "settled", "without_teaming"]

OF_SWITCH = ("mtu", "vxlan", "nioc", "link_down")
"""Keys that a port group has of its switch."""


def in_use(switch: VSwitchSpec) -> tuple[str, ...]:
    """Return the uplinks that carry traffic: standby adapters in the place of those whose link is down; the first one with explicit failover."""
    up = [name for name in switch.uplinks if name not in switch.link_down]
    spare = [name for name in switch.standby if name not in switch.link_down]
    if switch.teaming == "explicit_failover":
        return tuple([*up, *spare][:1])
    return (*up, *spare[: len(switch.uplinks) - len(up)])


def settled(network: Mapping[str, VSwitchSpec]) -> dict[str, VSwitchSpec]:
    """Return the switches with the uplinks that they use, port groups with what they have of their switches; all of them are sound."""
    found: dict[str, VSwitchSpec] = {}
    for name, switch in network.items():
        if switch.port_group_of is not None:
            parent = network[switch.port_group_of]
            switch = switch.model_copy(update={key: getattr(parent, key) for key in OF_SWITCH})
        uplinks = in_use(switch)
        found[name] = switch if uplinks == switch.uplinks else switch.model_copy(update={"uplinks": uplinks})
    return found


def without_teaming(network: Mapping[str, VSwitchSpec]) -> dict[str, VSwitchSpec]:
    """Return settled switches without the keys that their uplinks follow from: hosts that use the same uplinks share their runs."""
    keys = ("teaming", "standby", "link_down")
    plain = {key: VSwitchSpec.model_fields[key].default for key in keys}
    return {
        name: switch.model_copy(update=plain) if any(getattr(switch, key) != plain[key] for key in keys) else switch
        for name, switch in network.items()
    }
