"""Loading: from a scenario file and options to a checked `Scenario`, or all faults at once.

Loading does not depend on the machine and does not run a simulation. Every required point is made and checked, so that
a sweep cannot stop halfway at an invalid value.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hostsim.config.files import require_root
from hostsim.config.plugin import PluginSpec
from hostsim.config.quantity import LONGEST
from hostsim.engine.record import Scalar
from hostsim.errors import Fault, InputError, nearest_name
from hostsim.plugin.module import registry_of
from hostsim.plugin.registry import Registry
from hostsim.plugin.source import read_plugins
from hostsim.results.expect import Expectation, ExpectPart, Find
from hostsim.results.figure import AxisNames, Figure
from hostsim.results.metrics.catalogue import RESERVED
from hostsim.scenario.axis import Axis, make_axis, point_key, read_values, written_text
from hostsim.scenario.check.effect import without_effect
from hostsim.scenario.component import Change, hardware_in_place, range_faults
from hostsim.scenario.expect.expectation import LoadTrial, Reader
from hostsim.scenario.expect.figure import FigurePart
from hostsim.scenario.option_text import option_texts, require_axis_values, require_mappings, unit_reader, unsettable
from hostsim.scenario.provenance import default_services, effective_settings
from hostsim.scenario.resolve import Resolver, split_part_path
from hostsim.scenario.scenario import PointResolver, Precision, RunSize, RunSpec, Scenario
from hostsim.scenario.schema import AxisPart, PointFile, QuickPart, RunPart, ScenarioFile, SweptPart, file_models
from hostsim.scenario.shipped_data import explained
from hostsim.scenario.source import Source, read_source
from hostsim.scenario.yaml.reader import KeyPath, parse_value
from hostsim.scenario.yaml.source_tree import Place, dotted, keys, unwrap
from hostsim.scenario.yaml.validation import MOST_FAULTS, in_order, validate
from hostsim.units import SECOND

__all__ = ["load", "options_over", "reload"]

MOST_POINTS = 10_000
"""Largest number of points of a sweep; all are checked before anything runs, a thousand per second."""
_SWEEPABLE = tuple(PointFile.model_fields)


def load(
    scenario: str | Path | Mapping[str, Any] | Source,
    overrides: Mapping[str, Any] | None = None,
    axes: Mapping[str, Any] | None = None,
    root: str | Path | None = None,
    plugins: Sequence[str | Path | PluginSpec] = (),
) -> Scenario:
    """Load a scenario: read, validate and check it at every required point.

    Args:
        scenario: name of a shipped scenario, path of a file, YAML text, a mapping with the keys and values of a file, or a read source.
        overrides: values that replace those of the file, by dotted path (``--set``): text, or numbers of Python in the base unit of
            the value in the file. An axis that varies such a path is reduced to this value.
        axes: values of axes that replace those of the file, by name (``--axis``); a dotted path makes a new axis.
        root: folder that contains the scenario and all files that it names; the scenario's folder by default.
        plugins: modules whose policies, traffic and control loops the scenario may name, by path or entry point.

    Raises:
        InputError: with all faults.
    """
    require_mappings(overrides=overrides, axes=axes)
    require_axis_values(axes or {})
    registry = registry_of(read_plugins(plugins))
    source = read_source(scenario)
    top = source.file.parent if root is None else require_root(Path(root), source.file)
    try:
        return _Loading(source, overrides or {}, axes or {}, top, registry).scenario()
    except InputError as error:
        raise source.located(explained(error)) from None


def reload(
    scenario: Scenario,
    overrides: Mapping[str, Any] | None = None,
    axes: Mapping[str, Any] | None = None,
    root: str | Path | None = None,
    plugins: Sequence[str | Path | PluginSpec] = (),
) -> Scenario:
    """Load a scenario again with additional options, without reading its file again.

    The arguments and errors are those of `load`. A value of a path or an axis replaces an earlier one.
    """
    overrides, axes = options_over(scenario, overrides or {}, axes or {})
    top = scenario.resolver.root if root is None else root
    return load(scenario.source, overrides, axes, top, (*scenario.plugins, *plugins))


def options_over(
    scenario: Scenario, overrides: Mapping[str, Any], axes: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The overrides and axes of a loaded scenario merged with others; later values replace earlier ones."""
    require_mappings(overrides=overrides, axes=axes)
    paths = {name: axis.paths for name, axis in scenario.axes.items() if len(axis.paths) == 1}
    varied = {path for name in axes for path in paths.get(name, (name,))}
    kept = {path: text for path, text in scenario.overrides.items() if path not in varied}
    values = {
        name: text for name, text in scenario.axis_texts.items() if overrides.keys().isdisjoint(paths.get(name, ()))
    }
    return {**kept, **overrides}, {**values, **axes}


class _Loading:
    """Loads one file: collects faults, and makes the scenario."""

    def __init__(
        self, source: Source, overrides: Mapping[str, Any], axes: Mapping[str, Any], root: Path, registry: Registry
    ) -> None:
        _, self._model = file_models(registry)
        written, file = source.tree, source.file
        if not isinstance(written.data, dict):
            raise InputError(
                written.fault((), "is not a mapping", "a mapping with " + ", ".join(ScenarioFile.model_fields))
            )
        self._source = source
        self._faults: list[Fault] = []
        written, in_place = hardware_in_place(written)
        tree, self._assumptions, faults = unwrap(written)
        self._faults += faults
        base = Resolver(tree, (), file.parent, root, registry, in_place)
        unit_of = unit_reader(tree, base)
        overrides, axes = option_texts(overrides, "[{}]", unit_of), option_texts(axes, "{}", unit_of)
        inside = list(self._set(base, overrides))
        self._tree = tree.put([change for change in inside if split_part_path(change[0]) is None])
        self._pinned = {dotted(path): (value, place) for path, value, place in inside}
        parts = [change for change in inside if split_part_path(change[0]) is not None]
        self._resolver = Resolver(self._tree, parts, file.parent, root, registry, in_place)
        self._overrides, self._axis_texts = overrides, axes

    def scenario(self) -> Scenario:
        """The scenario.

        Raises:
            InputError: with all faults.
        """
        document, faults = validate(self._model, self._tree)
        self._faults += faults
        axes = self._axes()
        reader = Reader(self._tree, axes, LoadTrial(self._resolver, axes))
        parts = {index: part for index, part in self._parts("expect", ExpectPart) if isinstance(index, int)}
        # faults, reported with those of the document
        run, _ = validate(RunPart, self._tree, ("run",), self._mapping("run"))
        read_expectations = {
            index: self._with_length(reader, index, reader.expectation(index, part), run)
            for index, part in parts.items()
        }
        reader.names(parts)
        figures = reader.figures(self._parts("figures", FigurePart), read_expectations.values())
        target = self._mapping("run").get("precision")
        asked_for = target.items() if isinstance(target, dict) else ()
        precision = [
            reader.precision(name, text) for name, text in asked_for if isinstance(name, str) and isinstance(text, str)
        ]
        # skip 'unknown axis' faults for axes that already failed validation
        broken = self._mapping("sweep").keys() - axes.keys()
        self._faults += [f for f in reader.faults if f.message != "unknown axis" or f.given.strip("'") not in broken]
        points = PointResolver(self._resolver, axes)
        warnings = self._check_points(
            points, {index: e for index, e in read_expectations.items() if e is not None}, run
        )
        if document is not None:
            for assumption in self._assumptions:
                self._faults += range_faults(self._model, self._tree, assumption, keys(assumption.path))
        if self._faults or document is None or run is None:
            raise InputError(in_order(self._faults, self._source.name))
        lengths = self._run_spec(run, (p for p in precision if p))
        return self._finished(
            document, lengths, points, tuple(e for e in read_expectations.values() if e), figures, warnings
        )

    def _with_length(
        self, reader: Reader, index: int, entry: Expectation | None, run: RunPart | None
    ) -> Expectation | None:
        """An expectation whose threshold has its own length only if no option sets the length of all runs."""
        if entry is None or run is None or not isinstance(entry.form, Find) or not entry.form.length_ps:
            return entry
        if {"run.length", "run.quick.length"} & self._pinned.keys():
            return replace(entry, form=replace(entry.form, length_ps=0))
        if entry.form.length_ps <= min(run.length, run.quick.length):
            path = ("expect", index, "find", "length")
            reader.fault(path, "is not longer than other runs", "longer than run.length or run.quick.length")
        return entry

    def _run_spec(self, run: RunPart, precision: Iterable[Precision]) -> RunSpec:
        """Lengths and replications. Options for all runs have priority over the file's values for some runs."""

        def settled(prefix: str, part: QuickPart | SweptPart, wide: RunSize) -> RunSize:
            def value(name: str, own: int | None, of_wide: int) -> int:
                is_set = f"{prefix}.{name}" in self._pinned
                wider = [f"{prefix.rsplit('.', depth)[0]}.{name}" for depth in range(1, prefix.count(".") + 1)]
                return of_wide if own is None or (not is_set and any(p in self._pinned for p in wider)) else own

            return RunSize(
                value("length", part.length, wide.length_ps),
                value("replications", part.replications, wide.replications),
            )

        full = RunSize(run.length, run.replications)
        quick = settled("run.quick", run.quick, full)
        swept = settled("run.swept", run.swept, full)
        return RunSpec(full, quick, swept, settled("run.quick.swept", run.quick.swept, quick), tuple(precision))

    def _finished(
        self,
        document: ScenarioFile,
        run: RunSpec,
        points: PointResolver,
        expectations: tuple[Expectation, ...],
        figures: tuple[Figure, ...],
        warnings: tuple[str, ...],
    ) -> Scenario:
        settings, part_assumptions = effective_settings(self._resolver, self._tree, points.axes)
        assumptions = [a for a in self._assumptions if a.path not in self._pinned]
        first = {name: axis.values[0] for name, axis in points.axes.items()}
        forms = [entry.form for entry in expectations if not isinstance(entry.form, Find)]
        spec = points.resolve(first, run.full.length_ps).spec
        services = () if spec is None else tuple(default_services(spec))
        judged = frozenset(point_key({**first, **at}.values()) for form in forms for at in form.required_points())
        return Scenario(
            name=document.scenario,
            question=document.question,
            source=self._source,
            reload=reload,
            axes=points.axes,
            expectations=expectations,
            figures=figures,
            run=run,
            warnings=warnings,
            assumptions=(*assumptions, *part_assumptions),
            settings=(*settings, *services),
            points=points,
            overrides=self._overrides,
            axis_texts=self._axis_texts,
            judged=judged,
            searched=tuple(entry for entry in expectations if isinstance(entry.form, Find)),
        )

    # --- options

    def _set(self, base: Resolver, overrides: Mapping[str, str]) -> Iterator[Change]:
        """Changes of ``--set``; invalid paths are faults."""
        place = Place("--set")
        for path, text in overrides.items():
            try:
                value = parse_value(text, "--set")
            except InputError as error:
                self._faults += [Fault(f.message, path, repr(text), f.allowed, file="--set") for f in error.faults]
                continue
            if isinstance(value, dict):
                self._faults.append(Fault("is not a value", path, repr(text), "text or a number", file="--set"))
                continue
            fault = unsettable(self._model, base, keys(path), place, tuple(ScenarioFile.model_fields))
            if fault is None:
                yield keys(path), value, place
            else:
                self._faults.append(fault)

    # --- axes

    def _mapping(self, key: str) -> Mapping[str, Any]:
        value = self._tree.get((key,))
        return value if isinstance(value, dict) else {}

    def _parts(self, key: str, model: Any) -> Iterator[tuple[str | int, Any]]:
        """The valid entries of a section. Faults of other entries are reported with those of the document."""
        section = self._tree.get((key,))
        entries = (
            section.items() if isinstance(section, dict) else enumerate(section) if isinstance(section, tuple) else ()
        )
        for name, _ in entries:
            part, _ = validate(model, self._tree, (key, name))
            if part is not None:
                yield name, part

    def _axes(self) -> dict[str, Axis]:
        axes: dict[str, Axis] = {}
        texts = dict(self._axis_texts)
        for name, part in self._parts("sweep", AxisPart):
            path: KeyPath = ("sweep", name)
            written = [(value, self._tree.place((*path, "values", i))) for i, value in enumerate(part.values)]
            place, text = self._tree.place((*path, "set")), texts.pop(str(name), None)
            if part.labels:
                axis = self._labelled(str(name), part, written, place, text)
            else:
                axis = self._axis(str(name), part.set, written, place, text)
            if axis is not None:
                axes[str(name)] = replace(axis, names=self._names(str(name), part, axis))
        for name, text in texts.items():
            owner = next((own for own, axis in axes.items() if name in axis.paths), None)
            if owner is not None:
                self._faults.append(
                    Fault("is already varied", name, allowed=f"values for the axis {owner}", file="--axis")
                )
                continue
            if name not in self._mapping("sweep"):
                axis = self._new_axis(name, text)
                if axis is not None:
                    axes[name] = axis
        self._check_axes(axes)
        return axes

    def _names(self, name: str, part: AxisPart, axis: Axis) -> AxisNames:
        """Labels of an axis and its values in figures; values of ``--set`` have no labels."""
        replaced = not {f"sweep.{name}.values", f"sweep.{name}.labels"}.isdisjoint(self._overrides)
        texts = {written_text(value): str(value) for value in part.labels or part.values if isinstance(value, Scalar)}
        for value in part.value_labels:
            if written_text(value) not in texts and not replaced:
                allowed, near = "one of " + ", ".join(texts), nearest_name(value, texts)
                path: KeyPath = ("sweep", name, "value_labels", value)
                self._faults.append(self._tree.fault(path, "is not a value of the axis", allowed, near, value))
        labels = {written_text(value): words for value, words in part.value_labels.items()}
        values = {str(value): labels[written] for value in axis.values if (written := written_text(value)) in labels}
        return AxisNames(part.label, values)

    def _new_axis(self, name: str, text: str) -> Axis | None:
        """An axis of the command line, named after its path."""
        path = keys(name)
        axes = list(self._mapping("sweep"))
        if len(path) == 1 and path[0] not in ("platform", "hardware"):
            allowed = "an axis of the scenario or a dotted path" + (f"; axes: {', '.join(axes)}" if axes else "")
            self._faults.append(Fault("unknown axis", name, "", allowed, nearest_name(name, axes), "--axis"))
            return None
        return self._axis(name, (name,), [], Place("--axis"), text)

    def _labelled(
        self, name: str, part: AxisPart, written: list[tuple[Any, Place]], place: Place, text: str | None
    ) -> Axis | None:
        """An axis with named steps; an option selects some of them."""
        axis = self._axis(name, part.set, written, place, None, part.labels)
        if axis is None or text is None:
            return axis
        try:
            chosen = read_values(text, part.labels)
        except InputError as error:
            self._faults += [Fault(f.message, name, f.given, f.allowed, f.nearest, "--axis") for f in error.faults]
            return None
        faults = [fault for value in chosen if (fault := axis.fault(name, value, Place("--axis"))) is not None]
        self._faults += faults
        return None if faults else axis.only(chosen)

    def _axis(
        self,
        name: str,
        paths: tuple[str, ...],
        written: list[tuple[Any, Place]],
        place: Place,
        text: str | None,
        labels: tuple[Scalar, ...] = (),
    ) -> Axis | None:
        faults: list[Fault] = []
        if text is not None:
            try:
                like = [value for value, _ in written]
                written = [(value, Place("--axis")) for value in read_values(text, like)]
            except InputError as error:
                faults += [Fault(f.message, name, f.given, f.allowed, f.nearest, "--axis") for f in error.faults]
        if name in RESERVED:
            faults.append(
                Fault(
                    "is the name of a column of tables", f"sweep.{name}", "", "another name", "", place.file, place.line
                )
            )
        for path in paths:
            fault = unsettable(self._model, self._resolver, keys(path), place, _SWEEPABLE)
            if fault is not None:
                faults.append(fault)
            elif place.file != "--axis" and (".costs." in path or ".applications." in path):
                allowed = "no cost, as a constant has the same value in all experiments"
                faults.append(Fault("is a cost", path, "", allowed, "", place.file, place.line))
        pinned = [path for path in paths if path in self._pinned]
        if pinned and len(paths) > 1:
            faults.append(
                Fault(
                    f"is varied by {name}, together with other paths",
                    pinned[0],
                    "",
                    f"values for the axis {name}",
                    "",
                    "--set",
                )
            )
        elif pinned and text is not None:
            faults.append(Fault("is both set and varied", pinned[0], "", "one of them", "", "--axis"))
        elif pinned:
            written = [self._pinned[pinned[0]]]
        axis, value_faults = make_axis(name, paths, written, labels) if not faults else (None, [])
        self._faults += [*faults, *value_faults]
        return axis

    def _check_axes(self, axes: Mapping[str, Axis]) -> None:
        owners: dict[str, str] = {}
        for name, axis in axes.items():
            for path in axis.paths:
                owner = owners.setdefault(path, name)
                if owner != name:
                    place = self._tree.place(("sweep", name, "set"))
                    self._faults.append(
                        Fault(f"is already varied by {owner}", path, "", "each path once", "", place.file, place.line)
                    )
        count = math.prod(len(axis.values) for axis in axes.values())
        if count > MOST_POINTS:
            sizes = " x ".join(str(len(axis.values)) for axis in axes.values())
            most, given = f"at most {MOST_POINTS}", f"{sizes} = {count}"
            fault = self._tree.fault(("sweep",), "has too many points", most, given=given)
            raise InputError(in_order([*self._faults, fault], self._source.name))

    # --- points

    def _check_points(
        self, points: PointResolver, expectations: Mapping[int, Expectation], run: RunPart | None
    ) -> tuple[str, ...]:
        """Resolve every required point, and the file without axes; return the warnings."""
        length = run.length if run is not None else LONGEST * SECOND
        shortest = length if run is None else self._run_spec(run, ()).shortest_ps
        base = self._resolver.resolve((), length)
        self._faults += base.faults
        axes = points.axes
        warnings, judged = list(base.notices), [] if axes else [base.effects]
        if (len(self._faults) and not axes) or len(self._faults) > MOST_FAULTS:
            return tuple(warnings)
        first = {name: axis.values[0] for name, axis in axes.items()}
        swept = (
            (dict(zip(axes, values, strict=True)), Place("--axis"))
            for values in itertools.product(*(axis.values for axis in axes.values()))
        )
        required = (
            ({**first, **point}, self._tree.place(("expect", index)))
            for index, expectation in expectations.items()
            for point in expectation.form.required_points()
        )
        earlier = set(self._faults)
        for point, place in itertools.chain(swept, required):
            resolution = points.resolve(point, shortest, place)
            if resolution.spec is None and shortest < length:  # traffic may have arrivals only in longer runs
                resolution = points.resolve(point, length, place)
            warnings += resolution.notices
            judged.append(resolution.effects)
            new = [fault for fault in resolution.faults if fault not in earlier]
            earlier.update(new)
            self._faults += new
            if len(self._faults) > MOST_FAULTS:
                more = "may have more faults at other points, which are not checked"
                self._faults.append(Fault(more, "sweep", "", "", "", place.file, place.line))
                break
        return tuple(dict.fromkeys([*without_effect(judged), *warnings]))
