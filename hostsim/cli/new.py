"""``hostsim new``: write a commented scenario that runs at once, from options or interactive answers."""

from __future__ import annotations

import re
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hostsim.cli.inspection import SCHEMA_FILE, copy_file, write_schema
from hostsim.cli.option import option, repeated
from hostsim.errors import Fault, InputError, raise_faults, unknown_name

if TYPE_CHECKING:
    from hostsim.config.traffic import Traffic

__all__ = ["new"]


_SERVER, _NATIVE_SERVER = "xeon-8160", "xeon-6448y"
"""Default servers; the NICs of the first have drivers only for ESXi."""


@dataclass(frozen=True)
class _Answers:
    """Choices for the scenario."""

    name: str
    platform: str
    hardware: str
    nic: str
    """Model of each NIC; empty for the server's own NICs."""
    guest: str
    vms: int
    vcpus: int
    traffic: tuple[str, ...]

    @property
    def is_native(self) -> bool:
        """True for a platform without a hypervisor."""
        return _is_native(self.platform)


def _is_native(platform: str) -> bool:
    from hostsim.scenario.shipped_data import shipped_parts
    from hostsim.scenario.yaml.reader import read

    file = shipped_parts("platforms").get(platform)
    return file is not None and read(file, file.name).tree.get("hypervisor") is False


def new(
    name: Annotated[str, typer.Argument(help="Name of the scenario, and of its file.")] = "my-host",
    platform: Annotated[
        str | None, option("--platform", "NAME", "Version of the hypervisor; esxi-7.0 by default.")
    ] = None,
    hardware: Annotated[
        str | None,
        option("--hardware", "NAME", f"Server; {_SERVER} by default, and {_NATIVE_SERVER} on a native host."),
    ] = None,
    nic: Annotated[
        str | None,
        option("--nic", "MODEL", "Model of its NICs; by default the server's own NICs. Also writes a hardware file."),
    ] = None,
    guest: Annotated[str | None, option("--guest", "NAME", "Guest; rhel8 by default.")] = None,
    vms: Annotated[int | None, typer.Option("--vms", min=1, max=4096, help="VMs of each group; 1 by default.")] = None,
    vcpus: Annotated[int | None, typer.Option("--vcpus", min=1, max=64, help="vCPUs of each VM; 2 by default.")] = None,
    traffic: Annotated[
        list[str] | None,
        repeated("--traffic", "KIND", "Kind of traffic, with a group of VMs for it; transactions by default."),
    ] = None,
) -> None:
    """Write a commented scenario of your own that runs at once.

    Options choose its parts; on a terminal, missing options are asked for. `hostsim list` with hardware, nics,
    guests, platforms or traffic prints the names.
    """
    from hostsim.scenario.json_schema import scenario_schema
    from hostsim.scenario.shipped_data import shipped_parts

    asks = is_asking()

    def settled(own: Any, question: str, default: Any) -> Any:
        if own is not None or not asks:
            return default if own is None else own
        return typer.prompt(question, default=default, err=True)

    kinds = traffic or str(settled(None, f"Traffic ({', '.join(shipped_parts('traffic'))})", "transactions")).split()
    platform = str(settled(platform, "Version of the hypervisor", "esxi-7.0"))
    server = _NATIVE_SERVER if _is_native(platform) else _SERVER
    answers = _Answers(
        name,
        platform,
        settled(hardware, f"Server ({', '.join(shipped_parts('hardware'))})", server),
        settled(nic, "Model of its NICs (hostsim list nics; empty for the server's own)", ""),
        settled(guest, f"Guest ({', '.join(shipped_parts('guests'))})", "rhel8"),
        int(settled(vms, "VMs of each group", 1)),
        int(settled(vcpus, "vCPUs of each VM", 2)),
        tuple(kind.strip(",") for kind in kinds),
    )
    _check(answers)
    files = _files(answers)
    _check_loads(files, f"{name}.yaml")
    for file, text in files.items():
        copy_file(text.encode(), Path(file), "new")
    write_schema(SCHEMA_FILE, scenario_schema())
    typer.echo(f"run it with: hostsim run {name}.yaml --quick", err=True)


def is_asking() -> bool:
    """True on a terminal, where questions are answered."""
    return sys.stdin.isatty()


def _check(answers: _Answers) -> None:
    """Refuse names that are not shipped.

    Raises:
        InputError: with all of them.
    """
    from hostsim.scenario.shipped_data import shipped_parts

    parts = [
        ("--platform", "platforms", answers.platform),
        ("--hardware", "hardware", answers.hardware),
        ("--guest", "guests", answers.guest),
        *(("--traffic", "traffic", kind) for kind in answers.traffic),
        *([("--nic", "nics", answers.nic)] if answers.nic else []),
    ]
    faults = []
    for flag, kind, given in parts:
        names = shipped_parts(kind)
        if given not in names:
            faults.append(unknown_name("name", flag, given, names))
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,99}", answers.name):
        faults.append(Fault("is not a name", "new", repr(answers.name), "letters, digits, _ and -, at most 100"))
    raise_faults(faults)


def _files(answers: _Answers) -> dict[str, str]:
    """The texts to write, by file."""
    files = {}
    hardware = answers.hardware
    if answers.nic:
        hardware = f"./{answers.name}-server.yaml"
        files[hardware.removeprefix("./")] = _server(answers)
    return {f"{answers.name}.yaml": _scenario(answers, hardware)} | files


def _server(answers: _Answers) -> str:
    """A server with the processors of a shipped one, and two NICs of a model."""
    from hostsim.scenario.shipped_data import shipped_parts

    shipped = shipped_parts("hardware")[answers.hardware].read_text(encoding="utf-8")
    cpu = shipped[shipped.index("\ncpu:") + 1 : shipped.index("\nnics:") + 1]
    return (
        f"# A server with the processors of {answers.hardware}, and NICs by model: hostsim show {answers.nic}\n"
        f"hardware: {answers.name}-server\n{cpu}"
        "nics:\n"
        f"  vmnic0: {{model: {answers.nic}, node: 0}}   # any key of the model may be set beside it: rx_ring: 4096\n"
        f"  vmnic1: {{model: {answers.nic}, node: 0}}\n"
    )


def _scenario(answers: _Answers, hardware: str) -> str:
    """The text of the scenario."""
    entries = [(kind, *_entry(kind)) for kind in dict.fromkeys(answers.traffic)]
    groups: dict[str, int] = {}
    for _, _, spec in entries:
        for group in spec.groups:
            groups[group] = max(groups.get(group, 1), _vnics(spec))
    groups = groups or {"neighbour": 1}
    switches, is_native = max(groups.values()), answers.is_native
    lines = [
        f"# yaml-language-server: $schema={SCHEMA_FILE}",
        f"# Run it:                 hostsim run {answers.name}.yaml --quick",
        f"# All effective settings: hostsim show {answers.name}.yaml",
        f"scenario: {answers.name}",
        "question: What does each VM achieve, and how much CPU does it cost the host?",
        f"platform: {answers.platform}   # version of the hypervisor: hostsim list platforms",
        f"hardware: {hardware}   # server: hostsim list hardware, hostsim show NAME --copy",
        *([] if is_native else ["# host: {advanced: {Net.CoalesceScheme: rbc}}   # advanced settings by their names"]),
        "network:",
        *(f"  vSwitch{index}: {{uplinks: [vmnic{index}]}}" for index in range(switches)),
        "vms:",
    ]
    for group, vnics in groups.items():
        names = ", ".join(f"vSwitch{index}" for index in range(vnics))
        lines += [
            f"  {group}:",
            f"    count: {answers.vms}",
            f"    guest: {answers.guest}   # hostsim list guests",
            f"    vcpus: {answers.vcpus}",
            f"    networks: [{names}]",
            *([] if is_native else ["    # vmx: {ethernet0.coalescingScheme: disabled}   # keys of a .vmx file"]),
        ]
    lines.append("traffic:   # hostsim list traffic, hostsim show KIND")
    for kind, text, _ in entries:
        lines += [
            f"  {kind}:",
            *(f"    {line}" for line in text.splitlines()),
        ]
    varied = next(iter(groups))
    # a native host runs one kernel, so the number of its processors varies instead of the number of VMs
    key, label, least = ("vcpus", "Processors", answers.vcpus) if is_native else ("count", "VMs", answers.vms)
    lines += [
        "run: {length: 1 s, replications: 5, quick: {length: 300 ms, replications: 3}}",
        "",
        "sweep:",
        f"  {varied}: {{set: vms.{varied}.{key}, label: {label} of {varied}, values: [{least}, {2 * least}]}}",
        "",
        "figures:   # hostsim metrics",
        f"  cpu: {{x: {varied}, y: host_cpu}}",
        *(
            f"  {measure}: {{x: {varied}, y: {measure}}}"
            for measure in dict.fromkeys(_measure(s) for _, _, s in entries)
        ),
        "",
        "# expect:   # pass criteria for hostsim check",
        f"#   - {{name: room for more, metric: host_cpu, at: {{{varied}: {least}}}, between: [0, 80 %]}}",
        "",
    ]
    return "\n".join(lines)


def _entry(kind: str) -> tuple[str, Traffic]:
    """The entry of a kind of traffic, as text and as its spec."""
    from hostsim.config.traffic import kind_of
    from hostsim.config.workload import TRAFFIC
    from hostsim.scenario.shipped_data import shipped_parts
    from hostsim.scenario.yaml.reader import read

    file = shipped_parts("traffic")[kind]
    text = file.read_text(encoding="utf-8")
    spec = next(spec for spec in TRAFFIC if kind_of(spec) == kind)
    return text[text.index("\nkind:") + 1 :], spec.model_validate(read(file, file.name).tree)


def _vnics(spec: Traffic) -> int:
    """Number of vNICs that the traffic needs: two if it arrives and leaves through different vNICs."""
    return 1 + int(getattr(spec, "leaves", 0))


def _measure(spec: Traffic) -> str:
    """Main measures of the traffic."""
    if spec.has_answers:
        return "response_time_p95"
    if spec.kind == "work":
        return "work_time_mean"
    return "throughput" if spec.pace is None else "latency_p95"


def _check_loads(files: dict[str, str], scenario: str) -> None:
    """Load the scenario before it is written.

    Raises:
        InputError: the parts are incompatible.
    """
    from hostsim.scenario.load import load

    with tempfile.TemporaryDirectory() as folder:
        for file, text in files.items():
            (Path(folder) / file).write_text(text, encoding="utf-8")
        try:
            load(Path(folder) / scenario)
        except InputError as error:
            raise InputError(replace(fault, file=Path(fault.file).name) for fault in error.faults) from None
