"""The data of an explorer: the numbers of curves and comparisons, in a page of at most 3 MB without requests."""

from __future__ import annotations

import base64
import json
import re
import zlib

import numpy as np
import pytest

from hostsim.errors import InputError
from hostsim.results.compare import differences
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.results.table import as_numbers
from hostsim.views.explorer.data import Side, explorer_data
from tests.explorer.large_results import large_page
from tests.sample_results import results, table, verdict

MOST = 3_000_000


def unpacked(text: str):
    return json.loads(zlib.decompress(base64.b64decode(text), -15))


def moved():
    """The sample results, with more packet loss."""
    made = table()
    return results(table=made.assign(loss=made["loss"] + 3 + made["replication"] / 10))


def test_means_and_intervals_are_those_of_a_curve():
    """The page draws the output of `Results.curve`, without failed runs."""
    found = results()
    data = explorer_data(Side(found, "these"))
    column = unpacked(data["columns"][0]["loss"])
    curve = found.curve(x="receivers", y="loss")
    assert column["mean"] == curve["mean"].to_list()
    assert column["half"] == pytest.approx((curve["high"] - curve["mean"]).to_list(), rel=1e-2)
    assert data["axes"][0]["texts"] == ["1", "2"]
    known = unpacked(data["known"][0])
    assert (known["runs"], known["failed"]) == ([3, 3], [0, 1])


def test_measures_of_subjects_are_columns_with_their_subject():
    """After those of the host, which come first."""
    made = table()
    data = explorer_data(Side(results(table=made.assign(**{"loss of feed": made["loss"] + 1})), "these"))
    assert data["subjects"] == ["", "feed"]
    about = {measure["name"]: (measure["of"], measure["label"]) for measure in data["measures"]}
    assert about["loss"] == ("", "Packet loss")
    assert about["loss of feed"] == ("feed", "Packet loss of feed")
    host, feed = (unpacked(data["columns"][0][name])["mean"] for name in ("loss", "loss of feed"))
    assert feed == pytest.approx([mean + 1 for mean in host])


@pytest.mark.parametrize(
    ("values", "unit", "numbers"),
    [(("0 us", "50 us"), "µs", [0.0, 50.0]), (("900 pps", "1 kpps"), "pps", [900.0, 1000.0])],
)
def test_an_axis_has_the_unit_of_its_figure(values, unit, numbers):
    """The unit of all values as written, otherwise the base unit."""
    made = table()
    made = made.assign(receivers=[values[count - 1] for count in made["receivers"]])
    axis = explorer_data(Side(results(table=as_numbers(made, ["receivers"])), "these"))["axes"][0]
    assert (axis["unit"], axis["numbers"], axis["texts"]) == (unit, numbers, list(values))


def test_differences_are_those_of_a_comparison():
    """Paired by replication, after minus before."""
    now, before = moved(), results()
    data = explorer_data(Side(now, "now"), Side(before, "before"))
    column = unpacked(data["differences"]["loss"])
    expected = [one.difference for one in differences(now.table, before.table, ["receivers"]) if one.metric == "loss"]
    assert column["mean"] == pytest.approx([one.mean for one in expected])
    assert column["half"] == pytest.approx([one.half for one in expected], rel=1e-2)
    assert unpacked(data["columns"][0]["loss"])["mean"] == before.curve(x="receivers", y="loss")["mean"].to_list()


def test_results_with_other_axes_are_refused():
    """They have no points in common."""
    other = results(table=table().rename(columns={"receivers": "senders"}))
    with pytest.raises(InputError, match="receivers"):
        explorer_data(Side(results(), "now"), Side(other, "before"))


def test_published_values_are_at_their_points():
    """A claim about a measure at a point, with its band; a search is a threshold on its axis."""
    claims = {claim["name"]: claim for claim in explorer_data(Side(results(), "these"))["claims"]}
    assert claims["passes"]["points"] == [{"measure": "loss", "at": {"receivers": 1}}], "the second of its values"
    assert (claims["passes"]["low"], claims["passes"]["high"]) == (1.0, 3.0)
    assert claims["fails"]["threshold"] == {"measure": "loss", "axis": "receivers", "at": {}, "low": 1, "high": 3}


def test_an_infinite_mean_and_a_missing_one_are_json():
    """Infinity is a number that JavaScript reads as infinite, NaN is null."""
    made = table().assign(settled_response_p50=[np.inf, 1.0, 1.0, np.nan, np.nan, np.nan])
    data = explorer_data(Side(results(table=made), "these"))
    text = zlib.decompress(base64.b64decode(data["columns"][0]["settled_response_p50"]), -15).decode()
    assert json.loads(text)["mean"] == [np.inf, None]
    assert "Infinity" not in text


@pytest.mark.slow
def test_ten_thousand_points_have_a_page_that_says_what_is_left_out():
    """Measures of figures come first."""
    page = large_page()
    assert len(page.encode()) < MOST
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    assert data["count"] == 10_000
    assert [measure["name"] for measure in data["measures"]][:2] == ["loss", "guest_ready"]
    assert {*data["left_out"], *(measure["name"] for measure in data["measures"])} == {*CATALOGUE}


def test_a_page_is_one_file_and_text_of_users_is_text():
    """Nothing ends the script or the data early, and nothing is fetched."""
    hostile = "</script><script>alert(1)</script><!--"
    named = verdict(hostile)
    page = results(scenario=hostile, question=hostile, verdicts=(named,)).explore().html
    assert page.count("</script>") == 3
    assert "<!--" not in page.replace("<!doctype", "")
    assert not re.search(r"<link|@import|<script[^>]*src|<img", page.partition("<script")[0])


def test_a_notebook_shows_the_page_in_a_frame(tmp_path):
    """The same page as the saved one."""
    made = results().explore()
    assert made.save(tmp_path / "explore.html").read_text() == made.html
    assert made._repr_html_().startswith('<iframe title="Explorer of small"')
