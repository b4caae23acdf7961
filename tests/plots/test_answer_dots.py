"""Answers of expectations side by side: a bar each, what is accepted of claims, what is absent, what the axis says."""

from __future__ import annotations

from dataclasses import replace

import pytest
from matplotlib.axes import Axes
from sample_table import table

from hostsim.errors import InputError
from hostsim.results.expect import At, Band, Expectation, Find, Form, Ratio, Verdict, VerdictState, is_comparable
from hostsim.results.figure import AnswersSpec
from hostsim.results.search_answer import Bound
from hostsim.views.plots.answer_bars import NO_ANSWER, draw_answers, require_answers
from hostsim.views.plots.figure import draw
from hostsim.views.plots.style import as_svg

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
    return [tick.get_text() for tick in ax.get_xticklabels()]


def test_each_answer_is_a_bar_in_the_order_of_the_figure():
    """As high as the answer, whatever the order of the verdicts; the error bar is the verdict's own interval, where it has one."""
    ax = draw_answers(FIGURE, STEPS[::-1])
    bars, error_bars = ax.containers
    assert [(bar.get_x() + bar.get_width() / 2, bar.get_height()) for bar in bars] == [(0, 20), (1, 180)]
    (ends,) = error_bars.lines[2]
    assert ends.get_segments()[0][:, 1].tolist() == [19.0, 21.5]
    assert len(draw_answers(FIGURE, STEPS[1:2]).containers) == 1
    assert ax.get_xlim() == (-0.5, 2.5)


def test_each_bar_has_its_number_at_its_foot():
    """Zero, too, which has no bar; what is absent has none."""
    ax = draw_answers(FIGURE, [verdict("net.default", 0.0, (0.0, 0.0)), verdict("net.tuned", 182.25, (182.0, 183.0))])
    assert [(text.get_text(), text.xy) for text in ax.texts if text.get_text()[0].isdecimal()] == [
        ("0", (0, 0)),
        ("182.2", (2, 0)),
    ]


@pytest.mark.parametrize(("bound", "sign", "marker"), [(Bound.AT_LEAST, "≥", "^"), (Bound.LESS_THAN, "<", "v")])
def test_a_bound_has_an_arrowhead_and_no_error_bar(bound, sign, marker):
    """The end of a bracket is not drawn as an answer."""
    beyond = replace(verdict("net.tuned", 189.0, (189.0, None)), bound=bound)
    ax = draw_answers(FIGURE, [beyond])
    assert len(ax.containers) == 1
    assert [text.get_text() for text in ax.texts if text.get_text().endswith("189")] == [f"{sign} 189"]
    heads = [line for line in ax.get_lines() if line.get_marker() == marker]
    assert [(list(line.get_xdata()), list(line.get_ydata())) for line in heads] == [([2.0], [189.0])]
    assert [line for line in draw_answers(FIGURE, STEPS).get_lines() if line.get_marker() in ("^", "v")] == []


def test_an_answer_that_is_not_there_is_said_to_be_absent_in_its_place():
    """One without runs, and one that is not among the verdicts."""
    ax = draw_answers(FIGURE, STEPS)
    assert [
        text.xy if hasattr(text, "xy") else text.get_position() for text in ax.texts if text.get_text() == NO_ANSWER
    ] == [(2, 0.03)]
    nothing = draw_answers(FIGURE, ())
    assert [text.get_text() for text in nothing.texts] == [NO_ANSWER] * 3
    assert nothing.get_ylabel() == ""


def test_what_is_accepted_of_a_claim_is_a_bracket_and_of_ones_own_is_not():
    """With the published number; where a claim has no answer yet, too. A band that is open at both ends accepts everything."""
    ax = draw_answers(FIGURE, STEPS)
    brackets = [line for line in ax.get_lines() if line.get_zorder() == 4]
    assert [line.get_ydata()[0] for line in brackets] == [18, 80]
    assert [round(line.get_xdata()[1]) for line in brackets] == [0, 2]
    assert [text.get_text() for text in ax.texts if "about" in text.get_text()] == ["about 20", "about 20"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["published (accepted)"]
    assert draw_answers(AnswersSpec("one", ("any",)), [verdict("any")]).get_legend() is None
    (alone,) = (line for line in draw_answers(FIGURE, STEPS[2:]).get_lines() if line.get_zorder() == 4)
    assert list(alone.get_ydata()) == pytest.approx([80, 80, 88])


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        pytest.param(STEPS[:2], "largest rate (kpps)\nwith packet loss below 0.01 %", id="one condition"),
        pytest.param(
            [
                verdict("a", form=Find(True, "small_vms", 1, 9, "loss", 0.01, {})),
                verdict("b", form=Find(False, "small_vms", 1, 9, "host_cpu", 90, {})),
            ],
            "largest or smallest small vms",
            id="several conditions",
        ),
        pytest.param([verdict("a", form=At("host_cpu", {}), unit="%")], "Host CPU utilisation (%)", id="a metric"),
        pytest.param(
            [verdict("a", form=At("host_cpu", {}), unit="%"), verdict("b", form=At("loss", {}), unit="%")],
            "%",
            id="several metrics",
        ),
        pytest.param(
            [verdict("a", form=Ratio("loss"), unit="ratio")], "ratio", id="a ratio of a metric is in no unit of it"
        ),
    ],
)
def test_the_axis_says_what_all_answers_are(verdicts, expected):
    """A place on an axis and its condition, a metric, or no more than the unit."""
    figure = AnswersSpec("f", tuple(entry.expectation.name for entry in verdicts))
    assert draw_answers(figure, verdicts).get_ylabel() == expected


def test_names_are_wrapped_after_dots_at_spaces_and_inside_words_that_are_too_long():
    """No letter is lost, and a figure of many bars grows wide enough for them."""
    long = ("dense.medium.default.p95", "e1000, rings of 256. Twice", "a" * 40, *(f"one more {n}" for n in range(5)))
    ax = draw_answers(AnswersSpec("f", long), [])
    assert names(ax)[:2] == ["dense.medium.\ndefault.p95", "e1000, rings\nof 256. Twice"]
    assert [text.replace("\n", "") for text in names(ax)][2] == "a" * 40
    assert max(len(line) for text in names(ax) for line in text.split("\n")) <= 14
    usual = draw_answers(FIGURE, STEPS).figure
    assert ax.figure.get_figwidth() > usual.get_figwidth()
    mine = usual.add_subplot()
    assert draw_answers(AnswersSpec("f", long), [], ax=mine) is mine
    assert usual.get_figwidth() < ax.figure.get_figwidth()


def test_a_negative_answer_hangs_below_zero():
    """A difference may be one."""
    assert draw_answers(AnswersSpec("f", ("less",)), [verdict("less", -2.0, (-3.0, -1.0))]).get_ylim()[0] < -2
    assert draw_answers(FIGURE, STEPS).get_ylim()[0] == 0


def test_a_figure_of_answers_is_drawn_like_any_other_and_the_same_every_time():
    """The table is not looked at."""
    first, second = (as_svg(draw(table(), FIGURE, published=STEPS).get_figure(root=True)) for _ in range(2))
    assert first == second
    assert "largest rate (kpps)" in first


def test_answers_stand_on_one_scale_or_are_refused():
    """Places on one axis by the unit of its steps, whatever unit their claims are written in; other numbers by their unit."""
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
