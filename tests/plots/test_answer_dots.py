"""Answers of expectations, one row each: simulated, published and absent values, and the axis label."""

from __future__ import annotations

from dataclasses import replace

import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from sample_table import table

from hostsim.errors import InputError
from hostsim.results.expect import At, Band, Expectation, Find, Form, Ratio, Verdict, VerdictState, is_comparable
from hostsim.results.figure import AnswersSpec
from hostsim.results.search_answer import Bound
from hostsim.views.plots.answer_dots import NO_ANSWER, draw_answers, require_answers
from hostsim.views.plots.figure import draw
from hostsim.views.plots.style import LOOKS, as_svg

RATE = Find(True, "rate", 14, 28, "loss", 0.01, {}, "kpps")
OPEN = Band(None, None)


def verdict(
    name: str,
    value: float | None = 20.0,
    interval: tuple[float | None, float | None] = (19.0, 21.5),
    *,
    form: Form = RATE,
    unit: str = "kfps",
    band: Band = OPEN,
    is_claim: bool = True,
) -> Verdict:
    expectation = Expectation(name, form, band, unit, "about 20", is_claim)
    state = VerdictState.MISSING if value is None else VerdictState.PASS
    return Verdict(expectation, "a scenario", value, *interval, state)


STEPS = (
    verdict("net.default", band=Band(18, 22)),
    verdict("longer rings, by hand", 180.0, (None, None), band=Band(1, 2), is_claim=False, unit="kpps"),
    verdict("net.tuned", None, (None, None), band=Band(80, None)),
)
FIGURE = AnswersSpec("steps", ("net.default", "longer rings, by hand", "net.tuned"))


def names(ax: Axes) -> list[str]:
    return [tick.get_text() for tick in ax.get_yticklabels()]


def simulated(ax: Axes) -> list[tuple[float, float]]:
    """Value and row of each filled mark."""
    lines = [line for line in ax.get_lines() if line.get_color() == LOOKS[0].colour]
    return [(float(line.get_xdata()[0]), round(float(line.get_ydata()[0]))) for line in lines]


def published(ax: Axes) -> list[tuple[float, int]]:
    """Value and row of each hollow diamond."""
    lines = [line for line in ax.get_lines() if line.get_marker() == "D"]
    return [(float(line.get_xdata()[0]), round(float(line.get_ydata()[0]))) for line in lines]


def numbers(ax: Axes) -> list[str]:
    """Texts beside the axes, without the headings."""
    return [text.get_text() for text in ax.texts if text.get_text() not in ("simulated", "published", "")]


def test_each_answer_is_a_row_in_the_order_of_the_figure():
    """At its value, for any order of verdicts, with the verdict's own interval, if there is one."""
    ax = draw_answers(FIGURE, STEPS[::-1])
    assert simulated(ax) == [(20, 0), (180, 1)]
    intervals = [made.get_segments()[0] for made in ax.collections if isinstance(made, LineCollection)]
    assert [(ends[0][0], ends[1][0]) for ends in intervals] == [(19.0, 21.5)]
    assert not [made for made in draw_answers(FIGURE, STEPS[1:2]).collections if isinstance(made, LineCollection)]
    assert names(ax) == ["net.default", "longer rings, by hand", "net.tuned"]


def test_a_row_has_the_label_of_the_claim():
    """Without a label it has the name in the figure; ids are for tables."""
    one = verdict("net.default", band=Band(18, 22))
    named = replace(one, expectation=replace(one.expectation, label="rate by default"))
    assert names(draw_answers(AnswersSpec("f", ("net.default",)), [named])) == ["rate by default"]
    other = AnswersSpec("f", ("net.default",), names={"net.default": "as shipped"})
    assert names(draw_answers(other, [named])) == ["as shipped"]


def test_numbers_are_beside_the_axes():
    """Simulated and published ones, also zero; an absent answer is labelled as absent."""
    ax = draw_answers(FIGURE, [verdict("net.default", 0.0, (0.0, 0.0)), verdict("net.tuned", 182.25, (182.0, 183.0))])
    assert numbers(ax) == ["0", "about 20", NO_ANSWER, "182.2", "about 20"]
    assert {text.xy[0] for text in ax.texts} == {1}
    assert numbers(draw_answers(FIGURE, ())) == [NO_ANSWER] * 3


@pytest.mark.parametrize(("bound", "sign", "marker"), [(Bound.AT_LEAST, "≥", ">"), (Bound.LESS_THAN, "<", "<")])
def test_a_bound_has_an_arrowhead_and_no_interval(bound, sign, marker):
    """The end of a bracket is not drawn as an answer."""
    ax = draw_answers(FIGURE, [replace(verdict("net.tuned", 189.0, (189.0, None)), bound=bound)])
    assert f"{sign} 189" in numbers(ax)
    heads = [line for line in ax.get_lines() if line.get_marker() == marker]
    assert [list(line.get_xdata()) for line in heads] == [[189.0]]
    assert not [made for made in ax.collections if isinstance(made, LineCollection)]


def test_published_numbers_are_diamonds_with_the_accepted_range():
    """Words have no diamond, an open end has an arrow, and your own expectation has neither."""
    claims = [
        replace(one, expectation=replace(one.expectation, published=text))
        for one, text in zip(STEPS, ("20", "", "80"), strict=True)
    ]
    ax = draw_answers(FIGURE, claims)
    assert published(ax) == [(20, 0), (80, 2)]
    assert [text.xy[0] for text in ax.texts if text.arrow_patch] == [80]
    assert published(draw_answers(FIGURE, STEPS)) == []
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["simulated (95 % interval)", "published (accepted range)", "accepted range"]
    assert draw_answers(AnswersSpec("none", ("any",)), []).get_legend() is None


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        pytest.param(STEPS[:2], "Largest rate (kpps) with packet loss below 0.01 %", id="one condition"),
        pytest.param(
            [
                verdict("a", form=Find(True, "small_vms", 1, 9, "loss", 0.01, {})),
                verdict("b", form=Find(False, "small_vms", 1, 9, "host_cpu", 90, {})),
            ],
            "Largest or smallest small vms",
            id="several conditions",
        ),
        pytest.param([verdict("a", form=At("host_cpu", {}), unit="%")], "Host CPU utilisation (%)", id="a metric"),
        pytest.param(
            [verdict("a", form=At("host_cpu", {}), unit="%"), verdict("b", form=At("loss", {}), unit="%")],
            "%",
            id="several metrics",
        ),
        pytest.param(
            [verdict("a", form=Ratio("loss"), unit="ratio")], "Ratio", id="a ratio of a metric is in no unit of it"
        ),
    ],
)
def test_the_axis_says_what_all_answers_are(verdicts, expected):
    """A place on an axis with its condition, a metric, or only the unit."""
    figure = AnswersSpec("f", tuple(entry.expectation.name for entry in verdicts))
    assert draw_answers(figure, verdicts).get_xlabel() == expected


def test_names_are_wrapped_and_each_row_has_its_height():
    """No letter is lost; given axes keep their figure's size."""
    long = ("e1000, rings of 256 entries, " * 3, *(f"one more {n}" for n in range(5)))
    ax = draw_answers(AnswersSpec("f", long), [])
    assert names(ax)[0].count("\n") == 1
    usual = draw_answers(FIGURE, STEPS).figure
    assert ax.figure.get_figheight() > usual.get_figheight()
    assert ax.figure.get_figwidth() == usual.get_figwidth()
    mine, before = usual.add_subplot(), usual.get_figheight()
    assert draw_answers(AnswersSpec("f", long), [], ax=mine) is mine
    assert usual.get_figheight() == before


def test_a_figure_of_answers_is_drawn_like_any_other_and_the_same_every_time():
    """The table is ignored."""
    first, second = (as_svg(draw(table(), FIGURE, published=STEPS).get_figure(root=True)) for _ in range(2))
    assert first == second
    assert "Largest rate (kpps)" in first


def test_answers_stand_on_one_scale_or_are_refused():
    """Places on one axis are in the unit of its steps, whatever the unit of their claims; other numbers by their unit."""
    pps = verdict("in pps", form=Find(True, "rate", 1, 9, "loss", 0.01, {}, "pps"))
    share = verdict("a share", form=At("host_cpu", {}), unit="%")
    vcpu = verdict("of a vCPU", form=At("guest_cpu", {}), unit="% of a vCPU")
    assert is_comparable(STEPS[0].expectation, STEPS[1].expectation)
    assert is_comparable(share.expectation, vcpu.expectation)
    assert not is_comparable(STEPS[0].expectation, pps.expectation)
    with pytest.raises(InputError) as caught:
        require_answers(AnswersSpec("f", ("net.default", "a share", "in pps")), [*STEPS, share, pps])
    assert str(caught.value).splitlines() == [
        "answers: is in %; given 'a share'; allowed: answers in kpps",
        "answers: is in pps; given 'in pps'; allowed: answers in kpps",
    ]
    with pytest.raises(InputError) as caught:
        require_answers(AnswersSpec("f", ("net.defalt",)), STEPS)
    assert caught.value.faults[0].nearest == "net.default"
