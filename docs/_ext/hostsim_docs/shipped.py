"""What is shipped: scenarios with their claims, platforms, servers, guests; and the catalogue of measures."""

from __future__ import annotations

from pathlib import Path

from hostsim.claim import CLAIM_KINDS
from hostsim.metrics.catalogue import CATALOGUE
from hostsim.results.scoreboard import range_text
from hostsim.scenario.component import Parts
from hostsim.scenario.load import load
from hostsim.scenario.selection import expected_claims
from hostsim.scenario.shipped_data import claims, data_root, known_red, predictions, shipped, shipped_parts
from hostsim_docs.markdown import code, prose, table

__all__ = ["claims_page", "measures_page", "shipped_page"]


def measures_page() -> str:
    """The catalogue of measures."""
    rows = [[code(m.name), m.unit, m.kind, prose(m.meaning)] for m in CATALOGUE.values()]
    return f"""# Measures

Every measure is taken over the measured window of a run, which begins where warm-up ends ({{doc}}`../explanation/statistics`). `hostsim metrics` prints this table. A measure of something that the
host does not have, or of too few packets, is no number: NaN in tables, `not estimable` where it is shown.

An *instant* is a ratio or a level over the window, a *rate* an amount in each second of it, a *percentile* is told from the histogram of all values in it.

{table(("measure", "unit", "kind", "what it includes"), rows)}"""


def shipped_page() -> str:
    """Scenarios and parts that are found by name."""
    scenarios = [load(name) for name in shipped()]
    rows = [[code(s.name), s.question, ", ".join(map(code, s.axes)), str(len(s.expectations))] for s in scenarios]
    blocks = [
        "# What is shipped\n\nScenarios are found by name from any folder; `hostsim show NAME --copy` puts a file here, to edit it.\n\n",
        table(("scenario", "question", "axes", "expectations"), rows),
    ]
    rows = [
        [code(s.name), s.question, ", ".join(code(e.name) for e in s.expectations)] for s in map(load, predictions())
    ]
    blocks += [
        "\n## Predictions\n\nPublished measurements that nothing is fitted to ({ref}`predict-first`); `check` and `reproduce` leave them out.\n\n",
        table(("scenario", "question", "measurements"), rows),
    ]
    parts = Parts(Path())
    rows = []
    for name in shipped_parts("hardware"):
        spec = parts.hardware(name, ("hardware",)).spec
        assert spec is not None
        ports = ", ".join(dict.fromkeys(nic.model for nic in spec.nics.values()))
        rows.append([code(name), spec.cpu.model, f"{spec.cpu.pcpus}", f"{len(spec.nics)}: {ports}"])
    blocks += ["\n## Servers\n\n", table(("hardware", "processors", "PCPUs", "NIC ports"), rows)]
    for kind, title in (("platforms", "Platforms"), ("guests", "Guests"), ("peers", "Peers")):
        rows = [[code(name), _first_comment(file)] for name, file in shipped_parts(kind).items()]
        blocks += [f"\n## {title}\n\n", table((kind.removesuffix("s"), "what it is"), rows)]
    blocks.append("\n## The files of the scenarios\n")
    root = data_root()
    for name, file in (shipped() | predictions()).items():
        included = f"../../scenarios/{file.relative_to(root).as_posix()}"
        blocks.append(f"\n### {name}\n\n```{{literalinclude}} {included}\n:language: yaml\n```\n")
    return "".join(blocks)


def claims_page() -> str:
    """The scoreboard's rows: what was published, and what is accepted."""
    red, asked = known_red(), set(expected_claims())
    rows = [
        [
            code(c.id),
            c.kind,
            c.condition,
            f"{c.published} {c.unit}".strip(),
            _band(c.band.low, c.band.high),
            c.basis,
            "red" if c.id in red else "" if c.id in asked else "no scenario yet",
        ]
        for c in claims().values()
    ]
    kinds = [
        [kind, meaning, str(sum(c.kind == kind for c in claims().values()))] for kind, meaning in CLAIM_KINDS.items()
    ]
    reasons = "\n".join(
        f"- {code(claim)}, {range_text(known)}{', awaits calibration' * bool(known.awaiting)}: {prose(' '.join(known.reason.split()))}"
        for claim, known in red.items()
    )
    return f"""# Published claims

{len(rows)} published numbers, each with the band in which a value is accepted. `hostsim check` holds {len(asked)} of them against the simulator; {len(red)} are known to come out red.

{table(("kind", "meaning", "claims"), kinds)}
{table(("claim", "kind", "condition", "published", "accepted", "basis", ""), rows)}
## Known to be red

Each with the range of its value, in the unit of the claim: a check accepts it there and nowhere else ({{ref}}`known-red`).

{reasons}
"""


def _band(low: float | None, high: float | None) -> str:
    if low is not None and high is not None:
        return f"{low:g} to {high:g}"
    return f"from {low:g}" if low is not None else f"up to {high:g}" if high is not None else ""


def _first_comment(file: Path) -> str:
    """The first sentence of the comment that a file begins with."""
    lines = []
    for line in file.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# "))
    return " ".join(lines).split(". ")[0].rstrip(".")
