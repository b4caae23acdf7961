"""What is shipped: scenarios with their claims, platforms, servers, guests; and the catalogue of measures."""

from __future__ import annotations

from pathlib import Path

from hostsim.results.claim import CLAIM_KINDS, Citation
from hostsim.results.expect import Verdict
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.results.verdicts import (
    OUTCOMES,
    TALLY_HEADINGS,
    band_text,
    interval_cell,
    outcome,
    published_text,
    range_text,
    tally_rows,
    tally_words,
    value_text,
    verdict_text,
)
from hostsim.scenario.component import Parts
from hostsim.scenario.load import load
from hostsim.scenario.shipped_data import (
    bibliography,
    claims,
    data_root,
    known_red,
    part_title,
    predictions,
    shipped,
    shipped_parts,
)
from hostsim.units import US
from hostsim_docs import claim_values
from hostsim_docs.markdown import anchor, code, prose, table
from hostsim_docs.score import levels

__all__ = ["claims_page", "measures_page", "shipped_page", "sources_page"]


def measures_page() -> str:
    """The catalogue of measures."""
    rows = [[code(m.name), m.unit, m.kind, prose(m.meaning)] for m in CATALOGUE.values()]
    return f"""# Measures

Every measure covers the measured window of a run, after its warm-up ({{doc}}`../design/statistics`). `hostsim metrics` prints this table. A measure of a part that the
host does not have, or of too few packets, is undefined: it is NaN in tables and printed as `not estimable`.

An *instant* is a ratio or a level over the window, a *rate* is an amount per second, and a *percentile* is computed from the histogram of all values.

{table(("measure", "unit", "kind", "what it includes"), rows)}"""


def shipped_page() -> str:
    """Scenarios and parts that are found by name."""
    scenarios = [load(name) for name in shipped()]
    rows = [[code(s.name), s.question, ", ".join(map(code, s.axes)), str(len(s.expectations))] for s in scenarios]
    blocks = [
        "# Shipped files\n\nScenarios have names that work in any folder; `hostsim show NAME --copy` writes a copy to edit.\n\n",
        table(("scenario", "question", "axes", "expectations"), rows),
    ]
    rows = [
        [code(s.name), s.question, ", ".join(code(e.name) for e in s.expectations)] for s in map(load, predictions())
    ]
    blocks += [
        "\n## Predictions\n\nThese scenarios predict published measurements that nothing is fitted to ({ref}`predict-first`). They are not part of `check` and `reproduce`.\n\n",
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
    rows = []
    for name in shipped_parts("nics"):
        nic = parts.nic(name).spec
        assert nic is not None
        moderation = f"`{nic.moderation}`" if nic.interrupt_interval is None else f"{nic.interrupt_interval / US:g} us"
        rows.append([code(name), nic.model, ", ".join(map(code, (nic.driver, *nic.other_drivers))), moderation])
        rows[-1] += [f"{nic.rx_queues}", f"{nic.rx_ring}"]
    headings = ("model", "description", "drivers", "moderation", "receive queues", "receive ring")
    blocks += ["\n(shipped-nics)=\n\n## NICs\n\n", table(headings, rows)]
    for kind, title in (
        ("platforms", "Platforms"),
        ("guests", "Guests"),
        ("peers", "Peers"),
        ("traffic", "Kinds of traffic"),
    ):
        rows = [[code(name), part_title(file)] for name, file in shipped_parts(kind).items()]
        blocks += [f"\n## {title}\n\n", table((kind.removesuffix("s"), "description"), rows)]
    blocks.append("\n## The files of the scenarios\n")
    root = data_root()
    for name, file in (shipped() | predictions()).items():
        included = f"../../scenarios/{file.relative_to(root).as_posix()}"
        blocks.append(f"\n### {name}\n\n```{{literalinclude}} {included}\n:language: yaml\n```\n")
    return "".join(blocks)


def claims_page() -> str:
    """The scoreboard: what was published and where, what hostsim gives, what is accepted, and the verdict."""
    kept = claim_values.read()
    verdicts, quick = claim_values.verdicts(kept), kept["fidelity"] == "quick"
    rows = []
    for claim in claims().values():
        verdict = verdicts.get(claim.id)
        [citation] = bibliography().of_claim(claim.id)
        rows.append(
            [
                code(claim.id),
                "–" if verdict is None else verdict_text(verdict, quick=quick),
                published_text(verdict.expectation) if verdict else claim.published,
                "–" if verdict is None else _simulated(verdict),
                band_text(claim.band, claim.unit),
                f"{claim.condition}: {claim.metric}. {claim.kind.capitalize()}, {claim.basis}; {_cited(citation)}",
            ]
        )
    found = [(verdict.expectation.kind, outcome(verdict, quick=quick)) for verdict in verdicts.values()]
    meanings = "\n".join(f"- **{name}**: {meaning}" for name, meaning in OUTCOMES.items())
    kinds = "\n".join(f"- **{kind}**: {meaning}" for kind, meaning in CLAIM_KINDS.items())
    reasons = "\n".join(
        f"- {code(claim)}, {range_text(known)}{', awaits calibration' * bool(known.awaiting)}: {prose(' '.join(known.reason.split()))}"
        for claim, known in known_red().items()
    )
    return f"""# Published claims

hostsim is compared with {len(rows)} published numbers: {tally_words(found)}. Each number has a band of accepted values and a public source ({{doc}}`sources`).
Simulated values are those of `hostsim check`, at {kept["fidelity"]} fidelity with root seed {kept["seed"]}; square brackets are 95 % intervals.

{levels(verdicts, "../images")}
## Counts

{meanings}

{table(TALLY_HEADINGS, tally_rows(found))}
{kinds}

## The claims

{table(("claim", "verdict", "published", "simulated", "accepted", "condition and measure; kind and basis; source"), rows)}
## Known reds

Each entry has a range in the unit of the claim. A quick check with the default root seed accepts a value in this range ({{ref}}`known-red`).

{reasons}
"""


def sources_page() -> str:
    """The bibliography, and what the texts of costs and assumptions stand for."""
    found = bibliography()
    users: dict[str, list[str]] = {key: [] for key in found.entries}
    for claim in claims():
        for citation in found.of_claim(claim):
            users[citation.publication.key].append(claim)
    blocks = [
        """# Sources

This page lists the publications behind claims, costs, settings and assumptions, and then {ref}`their statements <source-facts>` by subject: a text with "facts 2.1" refers to the subject of that name. `hostsim cite SCENARIO`,
`hostsim cite CLAIM` and `hostsim cite "facts 2.1"` print the same information, with `--bibtex` as BibTeX. `hostsim cite` without a name prints how to cite hostsim.

"""
    ]
    for key, entry in found.entries.items():
        if key == "hostsim":
            continue
        lines = [entry.words + "."]
        lines += [f"<{entry.address}>"] if entry.address else []
        lines += [entry.note] if entry.note else []
        if users[key]:
            lines.append(f"Claims: {', '.join(map(code, users[key]))}.")
        blocks.append(f"({anchor('source', key)})=\n\n**{key}**: " + " ".join(lines) + "\n\n")
    blocks.append(
        """(source-facts)=

## Statements by subject

Statements are in our words, with the place in the publication. *Derived* marks arithmetic on quoted numbers, *inferred* a conclusion that the publication does not state.

"""
    )
    for name, subject in found.subjects.items():
        said = [
            [says, ", ".join(part for part in (_link(at.publication.key), at.at) if part)] for at, says in subject.facts
        ]
        blocks.append(
            f"({anchor('source', name)})=\n\n### {name}: {subject.about}\n\n{table(('statement', 'publication and place'), said)}\n"
        )
    named = {words: cited for words, cited in found.texts.items() if words not in found.subjects}
    rows = [[code(words), ", ".join(_link(c.publication.key) for c in cited)] for words, cited in named.items()]
    blocks.append(
        "## Other names in texts\n\nIf a text contains several names, the longest name is used, so a text can refer to a single publication of a subject.\n\n"
        + table(("name", "publications"), rows)
    )
    return "".join(blocks)


def _link(key: str) -> str:
    return f"{{ref}}`{key} <{anchor('source', key)}>`"


def _cited(citation: Citation) -> str:
    """A citation as a link to its publication, with the place in it."""
    entry = citation.publication
    who = entry.author[0].split()[-1] if entry.author else entry.organization
    return f"[{f'{who} {entry.year or str()}'.strip()}]({entry.address}), {citation.at}"


def _simulated(verdict: Verdict) -> str:
    """Value and interval of a verdict."""
    interval = interval_cell(verdict)
    return value_text(verdict) + (f" {interval if interval[0] == '[' else f'({interval})'}" if interval != "–" else "")
