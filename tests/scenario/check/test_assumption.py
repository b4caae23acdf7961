"""Implicit assumptions: the peer whose bursts decide the effect of splitRx."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostsim.scenario.load import load

TEXT = """\
scenario: multicast
question: Does it warn?
platform: PLATFORM
hardware: dell-r810
network: {lan: {uplinks: [vmnic0]}}
host: {advanced: {ADVANCED}}
vms:
  r: {count: 8, guest: rhel6, networks: [lan], vmx: {VMX}}
  other: {count: 1, guest: rhel6, networks: [lan]}
traffic:
  m: {kind: multicast, to: r, packet_size: 800 B, ARRIVALS}
  n: {kind: multicast, to: r, packet_size: 800 B, rate: 3 kpps}
"""


def warnings(
    folder: Path,
    platform: str = "esxi-6.0",
    vmx: str = "",
    arrivals: str = "rate: 8 kpps",
    advanced: str = "",
    peer: str = "",
) -> list[str]:
    """The warnings of such a scenario."""
    text = TEXT.replace("PLATFORM", platform).replace("VMX", vmx).replace("ARRIVALS", arrivals)
    file = folder / "multicast.yaml"
    file.write_text(text.replace("ADVANCED", advanced) + peer)
    return list(load(file).warnings)


SPLIT = 'ethernet0.emuRxMode: "1"'


@pytest.mark.parametrize("peer", ["", "peer: ideal\n"])
def test_a_peer_that_nobody_chose_warns_with_splitrx(tmp_path: Path, peer: str) -> None:
    """Each separate packet wakes a context for each VM; a peer that is a VM sends several at once."""
    (warning,) = warnings(tmp_path, vmx=SPLIT, peer=peer)
    named = "ideal" if peer else r"linux (the default)"
    assert warning == (
        f"vms.r: with splitRx, losses and CPU depend on how many multicast packets arrive together: the peer {named} sends them one by one, "
        "peer: esxi-vm in batches, as an ESXi VM does"
    )


@pytest.mark.parametrize(
    "change",
    [
        {"peer": "peer: esxi-vm\n"},
        {"peer": "peer: tester\n"},
        {"peer": "peer: linux\n"},
        {"arrivals": "rate: 500 pps"},
    ],
)
def test_a_chosen_peer_or_a_low_rate_does_not_warn(tmp_path: Path, change: dict[str, str]) -> None:
    """A VM below its limit of calls also sends each packet separately."""
    assert warnings(tmp_path, vmx=SPLIT, **change) == []
