"""``import``: turn files from a real host into a draft of hardware and scenario, and into measurements."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hostsim.cli.option import option
from hostsim.cli.output import columns
from hostsim.errors import Fault, InputError

if TYPE_CHECKING:
    from hostsim.host_files.draft import Draft

__all__ = ["import_"]

MOST_SHOWN = 12
"""Number of printed unknown keys and notes; the draft contains all."""


def import_(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="Files of a host, or folders of an unpacked vm-support bundle; formats are recognised by content.",
        ),
    ],
    output: Annotated[
        Path, option("-o --output", "DIR", "Folder for the draft and the measurements; no file there is overwritten.")
    ] = Path("my-host"),
    name: Annotated[
        str | None, option("--name", "NAME", "Name of the host; the name of the folder by default.")
    ] = None,
) -> None:
    """Read files of a real host: a draft, and measurements.

    Reads esxtop -b, net-stats -A, the output of esxcli network nic, esxcli hardware cpu and vsish, and captures of packets (pcap, pcapng,
    tshark), plain or compressed with gzip. Writes hardware.yaml and scenario.yaml, with the source line of each value
    and a mark for each unknown one; measured.csv for calibrate --to and check --against; and found.csv with everything
    that was read.
    """
    from hostsim.host_files.contents import group_name
    from hostsim.host_files.draft import Draft
    from hostsim.host_files.reader import read_host_files

    called = name if name is not None else group_name(output.resolve().name, "my-host")
    if group_name(called) != called:
        raise InputError(Fault("is not a name", "--name", repr(called), "letters, digits, _ and -"))
    draft = Draft(called, read_host_files(files))
    written = draft.write(output)
    typer.echo(_answer(draft) + "\n")
    for file in written:
        typer.echo(file)
    _say_notes(draft)


def _answer(draft: Draft) -> str:
    """Summary: read files, measures, and unknown keys."""
    readings = draft.readings
    used = sum(bool(reading.to) for reading in readings)
    lines = [f"{draft.name}: {len(readings)} values and counters read, {used} used"]
    packets = sum(len(arrival.instants_ns) for arrival in draft.contents.arrivals)
    lines += [f"packets to replay: {packets}"] if packets else []
    if measured := draft.measured:
        rows = [
            (
                entry.metric,
                f"{entry.value:.4g}",
                "none" if entry.half is None else f"{entry.half:.2g}",
                entry.samples,
                entry.source,
            )
            for entry in measured
        ]
        lines += ["", columns(("measure", "value", "interval", "samples", "from"), rows)]
    if unknown := draft.unknown:
        more = f", and {len(unknown) - MOST_SHOWN} more" if len(unknown) > MOST_SHOWN else ""
        lines += ["", f"unknown and required: {', '.join(unknown[:MOST_SHOWN])}{more}"]
    return "\n".join(lines)


def _say_notes(draft: Draft) -> None:
    notes = [*draft.contents.notes, *draft.unused_measures()]
    notes += (f"contradictory values, the first is used: {text}" for text in draft.conflicts())
    alone = [entry.metric for entry in draft.measured if entry.half is None]
    if alone:
        notes.append(f"{', '.join(alone)}: a single sample has no interval and is not in measured.csv; take several")
    for note in notes[:MOST_SHOWN]:
        typer.echo(f"note: {note}", err=True)
    if len(notes) > MOST_SHOWN:
        typer.echo(f"note: {len(notes) - MOST_SHOWN} more", err=True)
