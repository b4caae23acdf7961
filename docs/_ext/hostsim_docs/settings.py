"""Settings by the names that administrators type, as each platform has them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hostsim.config.field_docs import field_docs
from hostsim.config.platform import PlatformSpec, SettingSpec
from hostsim.scenario.component import Parts
from hostsim.scenario.shipped_data import shipped_parts
from hostsim_docs.markdown import anchor, code, prose, table

__all__ = ["platforms", "settings_page"]

_SECTIONS = {
    "advanced": (
        "Advanced settings",
        "`host: {advanced: {NAME: VALUE}}` in a scenario, `host.advanced.NAME` in a path.",
    ),
    "kernel": ("VMkernel settings", "`host: {kernel: {NAME: VALUE}}` in a scenario, `host.kernel.NAME` in a path."),
    "vmx": (
        "Keys of a VM",
        """`vms: {GROUP: {vmx: {NAME: VALUE}}}` in a scenario, `vms.GROUP.vmx.NAME` in a path. `ethernetX.` stands for every vNIC (`ethernet0.` is the first), and `pciPassthruX.` for
every passed-through device.""",
    ),
}


def settings_page() -> str:
    """Every setting, what it may be, and its default on every platform where that differs."""
    known = platforms()
    newest = list(known)[-1]
    blocks = [
        f"""# Settings by platform

Settings have the names that administrators type. A setting that is not in these tables is an error. A setting marked *not modelled* is accepted but has no effect. Every value except its default, or except the value that the model implements, gives a warning, which is stored with the results.
Defaults are those of {code(newest)}, followed by the defaults of earlier versions if they differ. `hostsim show SCENARIO` prints each effective value and its origin.

The *source* is a document, or a subject of the bibliography, which has links to its publications, with the version that was used. LAMW is the public list of settings github.com/lamw/esxi-advanced-and-kernel-settings.
"""
    ]
    for section, (title, where) in _SECTIONS.items():
        names = {name for spec in known.values() for name in getattr(spec, section)}
        rows = [_row(name, known, section, newest) for name in sorted(names)]
        headings = ("name", "allowed", "default", "meaning", "source")
        blocks.append(f"\n({anchor('settings', section)})=\n\n## {title}\n\n{where}\n\n{table(headings, rows)}")
    features: Any = PlatformSpec.model_fields["features"].annotation
    docs = field_docs(features)
    rows = [
        [
            prose(docs.get(name, name)),
            *("yes" if getattr(spec.features, name) else "no" for spec in known.values()),
        ]
        for name in features.model_fields
    ]
    blocks.append("\n## Features by version\n\n" + table(("feature", *map(code, known)), rows))
    return "".join(blocks)


def platforms() -> dict[str, PlatformSpec]:
    """Shipped platforms with settings by name, oldest version first."""
    read = {name: _platform(name) for name in shipped_parts("platforms") if name not in ("esxi", "ideal")}
    return {name: spec for name, spec in read.items() if spec.hypervisor}  # a native host has nothing to set


def _platform(name: str) -> PlatformSpec:
    part = Parts(Path()).platform(name, ("platform",))
    assert part.spec is not None, part.faults
    return part.spec


def _row(name: str, platforms: Mapping[str, PlatformSpec], section: str, newest: str) -> list[str]:
    by_platform: dict[str, SettingSpec] = {
        platform: getattr(spec, section)[name] for platform, spec in platforms.items() if name in getattr(spec, section)
    }
    shown = by_platform.get(newest) or next(reversed(by_platform.values()))
    others: dict[str, list[str]] = {}
    for platform, setting in by_platform.items():
        if setting.default != shown.default:
            others.setdefault(_value(setting), []).append(platform)
    defaults = [_value(shown), *(f"{', '.join(map(code, names))}: {value}" for value, names in others.items())]
    unmodelled = [platform for platform, setting in by_platform.items() if not setting.modelled]
    meaning = prose(shown.meaning)
    if len(unmodelled) == len(by_platform):
        meaning = f"*Not modelled.* {meaning}"
    elif unmodelled:
        meaning += f" *Not modelled* on {', '.join(map(code, unmodelled))}."
    missing = [platform for platform in platforms if platform not in by_platform]
    if len(missing) > len(by_platform):
        meaning = f"*Only on {', '.join(by_platform)}.* {meaning}"
    elif missing:
        meaning = f"*Not on {', '.join(missing)}.* {meaning}"
    if shown.behaves_as is not None:
        meaning += f" The model implements {code(shown.behaves_as)}; every other value gives a warning."
    return [code(name), _allowed(shown), "; ".join(defaults), meaning, prose(shown.source)]


def _value(setting: SettingSpec) -> str:
    return code(setting.default) or "nothing"


def _allowed(setting: SettingSpec) -> str:
    text = setting.allowed().replace('"', "`")
    return re.sub(r"(\d+)\.\.(?= |$)", r"from \1 on, in", text).removesuffix(", in")
