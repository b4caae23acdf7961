"""Tables have published beside simulated values."""

from __future__ import annotations

from sample_table import table, verdict

from hostsim.results.expect import At, Refusal, Refused
from hostsim.results.figure import AxisNames, TableSpec
from hostsim.views.plots.figure import draw
from hostsim.views.plots.table import table_cells

RULE = Refused(
    (Refusal("count=2", "sharing", ("sharing",)), Refusal("reserve=0", "sharing", ()), Refusal("", "", ())),
)


def test_answers_have_a_row_each_in_words_of_their_condition() -> None:
    """An answer without runs says so."""
    figure = TableSpec("t", ("a claim", "another"), conditions={"a claim": "two receivers: loss"})
    headings, rows = table_cells(table(), figure, [verdict(At("loss", {}), 1.0, 3.0)])
    assert headings == ("", "published", "simulated", "95 % interval", "accepted")
    assert rows == [
        ("two receivers: loss", "2 VMs", "2", "[1.9, 2.1]", "1 to 3"),
        ("another", "", "no answer", "", ""),
    ]


def test_a_rule_about_refusals_has_a_row_for_each_feature() -> None:
    """A row has the tried values, and both words if one of the cases had the opposite outcome."""
    _, rows = table_cells(table(), TableSpec("t", ("a claim",)), [verdict(RULE, 1.0, 1.0)])
    assert rows == [
        ("sharing", "refused", "refused, accepted", "count=2; reserve=0"),
        ("anything else", "accepted", "accepted", "the scenario as it stands"),
    ]


def test_metrics_have_a_column_each_and_one_for_what_was_published_of_them() -> None:
    """Rows are the axis values, with their names."""
    axes = {"split": AxisNames("", {"1": "splitRxMode"})}
    figure = TableSpec("t", (), "split", ("loss", "host_cpu"), {"receivers": 2}, axes=axes)
    about = verdict(At("loss", {"split": "1", "receivers": 2}), 1.0, 3.0, "about 2")
    headings, rows = table_cells(table(), figure, [about])
    assert headings == ("", "published", "Packet loss (%)", "Host CPU utilisation (%)")
    assert rows == [("0", "", "21 ± 2.5", "–"), ("splitRxMode", "about 2", "3 ± 2.5", "–")]


def test_a_wide_interval_is_written_without_an_exponent() -> None:
    """Two significant digits: 420, not 4.2e+02."""
    wide = table()
    wide["loss"] *= 170
    _, rows = table_cells(wide, TableSpec("t", (), "split", ("loss",), {"receivers": 2}), [])
    assert rows[0][1] == "3570 ± 420"


def test_a_drawn_table_has_a_cell_for_each_word() -> None:
    """It is a figure like the others, and saved with them."""
    ax = draw(table(), TableSpec("t", (), "split", ("loss",), {"receivers": 2}))
    (drawn,) = ax.tables
    texts = [cell.get_text().get_text() for cell in drawn.get_celld().values()]
    assert "21 ± 2.5" in texts
