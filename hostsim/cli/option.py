"""Options that several commands share, and how their text is read."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, TypedDict

import typer

from hostsim.errors import Fault, InputError
from hostsim.scenario.bounds import MOST_REPLICATIONS, MOST_SEED

__all__ = [
    "Cluster",
    "DryRun",
    "Jobs",
    "MaxMemory",
    "MaxTime",
    "Options",
    "Quick",
    "Replications",
    "ResultsFolder",
    "Seed",
    "memory",
    "pairs",
    "percent",
    "wall_time",
]

Quick = Annotated[bool, typer.Option("--quick", help="Short runs and few replications, as the scenario says.")]

Seed = Annotated[
    int, typer.Option("--seed", metavar="N", min=0, max=MOST_SEED, help="Root seed of all random streams.")
]
Replications = Annotated[
    int | None,
    typer.Option(
        "--replications",
        metavar="N",
        min=1,
        max=MOST_REPLICATIONS,
        help="Runs of each point, instead of the scenario's number.",
    ),
]
Jobs = Annotated[
    int | None, typer.Option("--jobs", metavar="N", min=1, help="Worker processes; one each processor by default.")
]
Cluster = Annotated[
    str | None, typer.Option("--cluster", metavar="ADDRESS", help="Run on the Dask cluster of this scheduler instead.")
]
ResultsFolder = Annotated[
    Path, typer.Option("--results", metavar="DIR", help="Folder that keeps every run; shared by all commands.")
]
MaxMemory = Annotated[
    str | None,
    typer.Option(
        "--max-memory", metavar="SIZE", help="Memory that a run may need, such as '2 GB'; more is a failed run."
    ),
]
MaxTime = Annotated[
    str | None,
    typer.Option(
        "--max-time", metavar="TIME", help="Time that a run may take, such as '10 min'; more is a failed run."
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be run and how long it would take; run nothing of it.")
]


class Options(TypedDict):
    """Options of every command that may run something, as `hostsim.api` takes them."""

    quick: bool
    seed: int
    replications: int | None
    jobs: int | None
    cluster: str | None
    results: Path
    max_memory: int | None
    max_time: float | None


def pairs(given: Iterable[str], option: str) -> dict[str, str]:
    """``name=value`` texts as a mapping.

    Raises:
        InputError: one has no equals sign or no name, or a name stands twice.
    """
    found: dict[str, str] = {}
    faults = []
    for text in given:
        name, sign, value = (part.strip() for part in text.partition("="))
        if not sign or not name:
            faults.append(Fault("is not name=value", option, repr(text), "name=value"))
        elif name in found:
            faults.append(Fault("stands twice", option, repr(text), f"one value for {name}"))
        found[name] = value
    if faults:
        raise InputError(faults)
    return found


def _quantity(text: str, kind: str, option: str) -> float:
    from hostsim.spec.quantity import read_quantity

    try:
        return read_quantity(text, kind)
    except ValueError as error:
        message, _, allowed = str(error).partition("|")
        raise InputError(Fault(message, option, repr(text), allowed)) from None


def memory(text: str | None) -> int | None:
    """``2 GB`` of ``--max-memory`` as bytes.

    Raises:
        InputError: it is no size.
    """
    return None if text is None else round(_quantity(text, "size", "--max-memory"))


def wall_time(text: str | None) -> float | None:
    """``10 min`` of ``--max-time`` as seconds.

    Raises:
        InputError: it is no duration.
    """
    return None if text is None else _quantity(text, "duration", "--max-time")


def percent(text: str, option: str) -> float:
    """``2 %`` as the share 0.02.

    Raises:
        InputError: it is no percentage from 0 on.
    """
    share = _quantity(text, "percent", option) / 100
    if share < 0:
        raise InputError(Fault("is negative", option, repr(text), "a percentage from 0"))
    return share
