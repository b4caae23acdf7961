"""A host is drawn as it is built, and all user texts are escaped."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

import hostsim
from hostsim.scenario.shipped_data import shipped
from hostsim.views.notebook.host import host_png

NATIVE = """\
scenario: alone
question: What does a machine do by itself?
platform: native
hardware: dell-r810
network: {net: {uplinks: vmnic0}}
vms: {kernel: {count: 1, guest: rhel6, networks: net}}
traffic: {stream: {kind: tcp_stream, to: kernel, direction: receive, window: 64 KiB}}
"""


@pytest.fixture(scope="module")
def splitrx():
    return hostsim.load("splitrx", axes={"receivers": 20, "rate": "40 kpps"})


def test_worlds_stand_where_they_are_at_home(splitrx):
    """Twenty VMs on two nodes with their receive contexts, and the NetPoll on the NIC's node."""
    frame = splitrx.host({"split": "1"}).worlds.set_index(["node", "kind"])["count"]
    assert frame.to_dict() == {
        (0, "netpoll"): 1,
        **{(node, kind): 10 for node in (0, 1) for kind in ("vcpu", "networld", "splitrx")},
    }
    assert (0, "splitrx") not in splitrx.host({"split": "0"}).worlds.set_index(["node", "kind"]).index


def test_the_drawing_names_what_there_is(splitrx):
    """Sockets, PCPUs, VMs, worlds, switch, NIC, traffic; the drawing is well-formed."""
    host = splitrx.host({"split": "1"})
    drawing = ET.fromstring(host.svg)  # noqa: S314  our own
    text = " ".join(drawing.itertext())
    for words in (
        *("socket 0: 8 PCPUs", "socket 1: 8 PCPUs", "10 × receiver", "10 splitRx contexts of receiver"),
        *(
            "1 NetPoll of vmnic0",
            "vSwitch0",
            "20 vNICs of receiver",
            "vmnic0: 10 Gbit/s",
            "stream: multicast to receiver",
        ),
    ):
        assert words in text
    cores = [shape for shape in drawing.iter("{http://www.w3.org/2000/svg}rect") if shape.get("width") == "13.0"]
    assert len(cores) == 16


def test_names_of_users_are_no_markup(splitrx):
    """In the drawing and in the page of a scenario."""
    host = replace(splitrx.host(), scenario="<script>a & b</script>", hardware="<b>")
    assert "<script>" not in host.svg
    assert "&lt;script&gt;a &amp; b" in host.svg
    ET.fromstring(host.svg)  # noqa: S314  our own
    page = replace(splitrx, question="<i>?</i>", warnings=("<u>",))._repr_html_()
    assert "&lt;i&gt;?" in page
    assert "<u>" not in page


def test_a_passed_through_nic_is_its_vms(splitrx):
    """An unused NIC is labelled as unused."""
    del splitrx
    nics = {nic.name: nic for nic in hostsim.load("directpath-udp").host({"path": "directpath"}).nics}
    assert (nics["vmnic0"].passed, nics["vmnic0"].link) == (True, "netperf")
    nics = {nic.name: nic for nic in hostsim.load("directpath-udp").host({"path": "vnic"}).nics}
    assert (nics["vmnic0"].passed, nics["vmnic0"].link) == (False, "vSwitch0")


def test_a_native_host_drives_its_nics(tmp_path):
    """The drawing does not mention a VM for a passed-through NIC."""
    (tmp_path / "alone.yaml").write_text(NATIVE)
    host = hostsim.load(tmp_path / "alone.yaml").host()
    assert (host.hypervisor, host.switches, host.nics[0].link) == (False, (), "kernel")
    assert "driven by kernel" in host.svg


@pytest.mark.parametrize("name", ["first-sweep", "small-udp", "80gbe"])
def test_shipped_scenarios_have_a_page_and_a_drawing(name):
    """Several switches, many NICs, firmware."""
    assert name in shipped()
    scenario = hostsim.load(name)
    assert scenario.question.replace("'", "&#39;") in scenario._repr_html_()
    height = float(ET.fromstring(scenario.host().svg).get("height", "0"))  # noqa: S314  our own
    assert 150 < height < 900


def test_a_host_elsewhere_is_refused(splitrx):
    """The error has the nearest axis, and the allowed values by file."""
    with pytest.raises(hostsim.InputError, match="did you mean 'receivers'"):
        splitrx.host({"receiver": 3})
    with pytest.raises(hostsim.InputError, match="-1"):
        splitrx.host({"receivers": -1})


def test_a_notebook_that_is_not_trusted_shows_the_drawing(splitrx):
    """There is a PNG beside the SVG, and no HTML whose texts would run together."""
    host = splitrx.host()
    bundle = host._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "image/svg+xml", "image/png"}
    assert bundle["image/png"].startswith(b"\x89PNG")
    assert host_png(host) == bundle["image/png"]
    assert not hasattr(host, "_repr_html_")
