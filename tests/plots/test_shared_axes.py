"""Several results on one axes, each with its own look, place and name."""

from __future__ import annotations

import gc
import itertools
import weakref

import pytest
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from sample_table import table

from hostsim.errors import InputError
from hostsim.results.figure import FigureSpec
from hostsim.views.plots.figure import draw
from hostsim.views.plots.style import as_svg

LOSS = FigureSpec("loss", "receivers", "loss", ("split",))


def names(axes) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_lines_of_several_results_have_looks_and_names_of_their_own() -> None:
    """The first ones keep theirs and get a name as well; the scale fits all of them."""
    axes = draw(table(), LOSS, name="before")
    alone = [(line.get_color(), line.get_linestyle()) for line in axes.get_lines()]
    faster = table().assign(loss=lambda rows: 10 * rows["loss"])
    draw(faster, LOSS, ax=axes, name="after")
    assert names(axes) == [f"{who}, split = {split}" for who in ("before", "after") for split in (0, 1)]
    lines = axes.get_lines()
    looks = [(line.get_color(), line.get_linestyle()) for line in lines]
    assert looks[:2] == alone
    assert len(set(looks)) == len(looks) == 4
    assert axes.get_ylim()[1] > max(line.get_ydata().max() for line in lines) >= 400
    assert axes.get_ylim()[0] == 0


def test_bars_of_several_results_stand_side_by_side() -> None:
    """No bar hides another one, and a bar drawn by other code stays."""
    axes = Figure().add_subplot()
    axes.bar([9], [1], label="mine")
    figure = FigureSpec("loss", "receivers", "loss", kind="bar")
    for name in ("one", "two", "two"):
        draw(table(), figure, ax=axes, name=name)
    groups = [group for group in axes.containers if isinstance(group, BarContainer)]
    assert names(axes) == ["mine", "one", "two", "two (2)"]
    assert [group.get_label() for group in groups] == names(axes)
    at_first = [group[0] for group in groups[1:]]
    for left, right in itertools.pairwise(at_first):
        assert left.get_x() + left.get_width() <= right.get_x() + 1e-9


def test_two_measures_in_one_unit_are_named() -> None:
    """The axis label is what they have in common."""
    figure = FigureSpec("loss", "receivers", "loss")
    axes = draw(table(), figure, name="mine")
    busy = table().assign(host_cpu=1.0)
    draw(busy, FigureSpec("cpu", "receivers", "host_cpu"), ax=axes, name="mine")
    assert names(axes) == ["Packet loss", "Host CPU utilisation"]
    assert axes.get_ylabel() == "%"


def test_cleared_axes_are_new_and_nothing_is_kept_alive() -> None:
    """Drawing on them works as on a separate figure, and a discarded figure is freed."""
    figure = Figure()
    axes = figure.add_subplot()
    draw(table(), LOSS, ax=axes, name="one")
    axes.clear()
    draw(table(), LOSS, ax=axes, name="two")
    assert names(axes) == ["split = 0", "split = 1"]
    known = weakref.ref(axes)
    as_svg(figure)
    del axes, figure
    gc.collect()
    assert known() is None


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (
            FigureSpec("f", "split", "loss"),
            "x: axis differs from that of the existing drawing; given 'split'; allowed: 'receivers'",
        ),
        (FigureSpec("f", "receivers", "nic_interrupts"), "y: unit differs from that of the existing drawing"),
        (FigureSpec("f", "receivers", "loss", kind="bar"), "kind: kind differs from that of the existing drawing"),
        (FigureSpec("f", "receivers", "loss", right="host_cpu"), "ax: cannot share axes"),
    ],
)
def test_what_cannot_share_axes_is_refused(other, words) -> None:
    """The existing drawing is unchanged."""
    axes = draw(table(), LOSS)
    before = axes.get_lines()
    with pytest.raises(InputError, match=words):
        draw(table(), other, ax=axes)
    assert list(axes.get_lines()) == list(before)
