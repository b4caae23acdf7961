"""Page of effects: each setting at both ends of its range, on a small host on which it has an effect.

``python -m hostsim_docs.effects_page FILE`` runs all cases and writes it, as `make effects-page` does for the documentation.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from hostsim.campaign.simulate import simulate
from hostsim.config.files import write_whole
from hostsim.config.platform import PlatformSpec, SettingSpec
from hostsim.errors import InputError
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.results.metrics.subject import of_subject, parsed
from hostsim.results.verdicts import number
from hostsim.scenario.load import load
from hostsim.scenario.plan import point_at
from hostsim.scenario.schema import PointFile
from hostsim_docs.keys import Section, walk
from hostsim_docs.markdown import code, table
from hostsim_docs.settings import platforms

__all__ = ["Case", "Effect", "accepted", "cases", "page", "run"]

REPLICATIONS = 2
"""Number of runs at each end; runs with the same number have the same random numbers at both ends."""
LEAST = 0.02
"""Smallest difference of the means, as a share of the larger one."""
_ROOT = Path(__file__).parents[3]
_SECTIONS = {"advanced": "host.advanced", "kernel": "host.kernel", "vmx": "vms.NAME.vmx"}
_WIRING = {"kind", "to", "sender", "network", "networks", "port_group_of"}
"""Keys that connect parts: another value is a different host, or is refused."""
_SHARED = re.compile(r".*\.(arrivals|service)\.(.+)")
_KIND = re.compile(r"traffic\.NAME \(kind: (\w+)\)")
_GROUPS = {
    "host.advanced.": "Advanced settings",
    "host.kernel.": "VMkernel settings",
    "vms.NAME.vmx.": "Keys of a VM's configuration file",
    "host.nics.": "NICs",
    "network.": "Virtual switches",
    "vms.": "VMs",
    "resource_pools.": "Resource pools",
    "traffic.": "Traffic",
    "": "Arrivals and service times",
}
"""Headings of the page, by the start of a name."""
_NUMBERED = re.compile(r"(ethernet|pciPassthru)\d+\.")
_OF_NIOC = re.compile(r"nioc\.(system|vms)\.\w+")


@dataclass(frozen=True)
class Case:
    """A setting, a host on which it has an effect, and the ends of its range."""

    name: str
    """Name in the table."""
    scenario: Mapping[str, Any] = field(repr=False)
    path: str
    ends: tuple[Any, ...]
    measure: str = ""
    """Metric that must differ; empty if a warning is expected."""
    beside: Mapping[str, Any] = field(default_factory=dict)
    """Further values at both ends."""
    runs: int = REPLICATIONS
    """Number of replications at each end."""
    why: str = ""
    """Reason why the values are not the ends of the range, or why there is only one."""


@dataclass(frozen=True)
class Effect:
    """Result of a case: the values of its metric at the ends, or a message."""

    case: Case
    values: tuple[tuple[float, ...], ...] = ()
    """Value of each replication, for each end."""
    message: str = ""
    """Warning or refusal by hostsim."""

    @property
    def differs(self) -> bool:
        """True if all values at one end exceed all values at the other, and the means differ enough."""
        if len(self.values) < 2:
            return False
        low, high = sorted((self.values[0], self.values[-1]), key=sum)
        apart = sum(high) - sum(low) >= LEAST * max(abs(sum(high)), abs(sum(low)))
        return max(low) < min(high) and apart

    @property
    def passes(self) -> bool:
        """True for an effect if one is expected, else for a message."""
        return self.differs if self.case.measure else bool(self.message)


def accepted() -> dict[str, SettingSpec | None]:
    """Every setting and key that a scenario may have, by its name in the table; settings of a platform as in its newest version."""
    found: dict[str, SettingSpec | None] = {}
    for section, path in _SECTIONS.items():
        for spec in platforms().values():
            found |= {f"{path}.{name}": setting for name, setting in getattr(spec, section).items()}
    sections = list(walk(Section("the file", PointFile)))
    paths = {section.path for section in sections}
    for inner in sections:
        if not inner.path.startswith(("host.nics", "network", "vms", "resource_pools", "traffic")):
            continue
        for key, entry in inner.model.model_fields.items():
            path = f"{inner.path}.{entry.alias or key}"
            has_keys = not paths.isdisjoint({path, f"{path}[]", f"{path}.NAME"})
            if key in _WIRING or (has_keys and key not in ("arrivals", "service")) or path in ("vms.NAME.vmx",):
                continue
            found[_SHARED.sub(r"\1.\2", _KIND.sub(r"traffic.\1", path).replace("[]", ""))] = None
    return found


def _name(path: str, scenario: Mapping[str, Any]) -> str:
    """The name in the table of a path of a scenario."""
    keys = path.split(".")
    if keys[0] == "traffic" and keys[1] in scenario["traffic"]:
        keys[1] = scenario["traffic"][keys[1]]["kind"]
    elif path.startswith(("host.nics.", "network.", "vms.", "resource_pools.")):
        keys[2 if keys[0] == "host" else 1] = "NAME"
    named = _OF_NIOC.sub(r"nioc.\1.NAME", ".".join(keys))
    return _SHARED.sub(r"\1.\2", _NUMBERED.sub(r"\1X.", named))


def cases() -> list[Case]:
    """The cases in the file beside this module, and one for each setting that is not modelled."""
    found: dict[str, Case] = {}
    for entry in yaml.safe_load(Path(__file__).with_name("effects.yaml").read_text(encoding="utf-8")):
        scenario = {"scenario": "effect", "question": "Does it matter?", **entry["host"]}
        for path, given in entry["cases"].items():
            values = {"ends": given[:-1], "measure": given[-1]} if isinstance(given, list) else dict(given)
            case = Case(
                name=_name(path, scenario),
                scenario=scenario,
                path=values.get("set", path),
                ends=tuple(values["ends"]),
                measure=values.get("measure", ""),
                beside=values.get("beside", {}),
                runs=values.get("runs", REPLICATIONS),
                why=values.get("why", ""),
            )
            found[case.name] = case
    plain, known, names = next(iter(found.values())).scenario, platforms(), accepted()
    for name, setting in names.items():
        if setting is not None and name not in found and (ends := _ends_in_vain(setting)):
            path = name.replace("vms.NAME", f"vms.{next(iter(plain['vms']))}").replace("X.", "0.")
            platform = next(p for p, spec in reversed(known.items()) if _has(spec, name))
            nics = {nic: {"model": "82599"} for nic in plain["hardware"]["nics"]}  # with drivers for all platforms
            found[name] = Case(name, plain, path, ends, beside={"platform": platform, "hardware.nics": nics})
    return [found[name] for name in names if name in found] + [
        case for name, case in found.items() if name not in names
    ]


def _has(spec: PlatformSpec, name: str) -> bool:
    return any(
        name.removeprefix(f"{path}.") in getattr(spec, section)
        for section, path in _SECTIONS.items()
        if name.startswith(f"{path}.")
    )


def _ends_in_vain(setting: SettingSpec) -> tuple[Any, ...]:
    """Both ends of a setting that is not modelled, or its only value."""
    if setting.choices is not None and len(setting.choices) == 1:
        return (setting.choices[0], "another value")
    if setting.choices is not None:
        return () if setting.modelled else (setting.choices[0], setting.choices[-1])
    if setting.modelled:
        return ()
    if isinstance(setting.default, str):
        return ("1", "2")
    low = setting.low or 0
    return (low, setting.high if setting.high is not None else max(2 * setting.default, low + 1))


def _changed(scenario: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A scenario with other values at some dotted paths; None removes a key."""
    changed: dict[str, Any] = deepcopy(dict(scenario))
    for path, value in changes.items():
        above, _, setting = path.partition(".vmx.") if ".vmx." in path else path.rpartition(".")
        if path.startswith(("host.advanced.", "host.kernel.")):
            above, setting = ".".join(path.split(".")[:2]), path.split(".", 2)[2]
        place = changed
        for key in [*above.split("."), *(["vmx"] if ".vmx." in path else [])] if above else []:
            place = place.setdefault(key, {})
        if setting == "file":
            value = str(_ROOT / value)
        if value is None:
            place.pop(setting, None)
        else:
            place[setting] = value
    return changed


def run(case: Case) -> Effect:
    """Run a case at its ends; a case without a measure is loaded only."""
    metric = None
    if case.measure:
        name, subject = parsed(case.measure)
        metric = of_subject(CATALOGUE[name], subject) if subject else CATALOGUE[name]
    values: list[tuple[float, ...]] = []
    messages: dict[str, None] = {}
    for end in case.ends:
        try:
            scenario = load(
                _changed(case.scenario, {**case.beside, case.path: end}),
                root=_ROOT if case.path.endswith(".file") else None,
            )
            point = point_at(scenario, {})
        except InputError as error:
            messages[f"refused: {error.faults[0].message}"] = None
            continue
        said = [text for text in (*scenario.warnings, *point.warnings) if case.path.rpartition(".")[2] in text]
        messages |= dict.fromkeys(re.sub(r"^\S+: ", "", text) for text in said)
        if metric is not None:
            records = [
                simulate(point.spec, point_id=point.id, axes=point.axes, seed=1, replication=number)
                for number in range(case.runs)
            ]
            values.append(tuple(float(metric.evaluate(record)) for record in records))
    return Effect(case, tuple(values), next(iter(messages), ""))


def page(effects: Sequence[Effect]) -> str:
    """The page as Markdown: the introduction beside this module, and a table for settings and keys of each kind."""
    introduction = Path(__file__).with_name("effects.md").read_text(encoding="utf-8").rstrip()
    with_effect = sum(effect.passes and bool(effect.case.measure) for effect in effects)
    count = f"{len(effects)} settings and keys: {with_effect} change a measure, {len(effects) - with_effect} give a message."
    blocks = [f"{introduction}\n\n{count}\n"]
    groups: dict[str, list[list[str]]] = {}
    for effect in effects:
        start = next(start for start in _GROUPS if effect.case.name.startswith(start))
        groups.setdefault(_GROUPS[start], []).append(_row(effect, start))
    headings = ("setting", "ends", "measure, or message", "at the first", "at the last")
    blocks += [f"\n## {title}\n\n{table(headings, rows)}" for title, rows in groups.items()]
    return "".join(blocks)


def _row(effect: Effect, start: str) -> list[str]:
    case = effect.case
    ends = ", ".join(code(_text(end)) for end in case.ends) + (f" ({case.why})" if case.why else "")
    short = case.name.removeprefix(start if start.endswith(("advanced.", "kernel.", "vmx.")) else "")
    if case.measure:
        return [code(short), ends, case.measure, *(_mean(values) for values in effect.values)]
    return [code(short), ends, f"*{effect.message}*", "", ""]


def _text(end: object) -> str:
    """An end in YAML notation."""
    if end is None:
        return "no key"
    return str(yaml.safe_dump(end, default_flow_style=True, width=1000)).removesuffix("\n").removesuffix("\n...")


def _mean(values: Sequence[float]) -> str:
    return number(sum(values) / len(values))


def main() -> int:
    """Run all cases and write the page; returns 1 unless each has the expected effect or message."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("file", type=Path)
    options = parser.parse_args()
    effects = [run(case) for case in cases()]
    write_whole(options.file, page(effects).encode())
    for effect in effects:
        if not effect.passes:
            print(f"{effect.case.name} has neither an effect nor a message", file=sys.stderr)
    return 0 if all(effect.passes for effect in effects) else 1


if __name__ == "__main__":
    sys.exit(main())
