"""``hostsim explore``: a page for each scenario, from a folder, or from a scenario that is run first."""

from __future__ import annotations

from pathlib import Path

import pytest

POINT = ("--jobs", "1", "--quick", "--axis", "receivers=1")


def test_a_scenario_is_run_and_its_page_written_beside_its_results(cli, tiny):
    """Afterwards the folder suffices, by its path or below the results folder, and nothing is run."""
    done = cli("explore", tiny, *POINT)
    assert (done.exit_code, done.stdout) == (0, "results/tiny/explore.html\n")
    assert "2 of 2 runs" in done.stderr
    tiny.unlink()
    Path("results/tiny/explore.html").unlink()
    for subject in ("results/tiny", "results", "tiny"):
        again = cli("explore", subject)
        assert (again.exit_code, again.stdout) == (0, "results/tiny/explore.html\n")
        assert "runs" not in again.stderr
    assert "Does it run?" in Path("results/tiny/explore.html").read_text()


def test_two_results_of_a_scenario_are_compared(cli, tiny_run):
    """The page names both folders."""
    Path("results").rename("other")
    cli("run", tiny_run, *POINT, "--set", "traffic.stream.packet_size=100 B")
    done = cli("explore", "results/tiny", "--against", "other", "-o", "page.html")
    assert done.exit_code == 0
    assert '"name":"other/tiny"' in Path("page.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], ["nowhere"]),
        (["results/tiny", "--axis", "receivers=2"], ["options of a run", "receivers=2"]),
        (["results", "tiny.yaml", "-o", "page.html"], ["--output", "several scenarios"]),
        (["results/tiny", "--against", "nowhere"], ["nowhere", "contains no results"]),
        (["."], ["contains no results"]),
    ],
)
def test_what_cannot_be_explored_is_a_fault(cli, tiny_run, arguments, words):
    """The status is 2, and no page is written."""
    done = cli("explore", *arguments, *(["--quick", "--jobs", "1"] if "tiny.yaml" in arguments else []))
    assert done.exit_code == 2
    assert all(word in done.stderr for word in words), done.stderr
    assert not Path("page.html").exists()


def test_the_page_is_written_through_no_link_that_leads_out(cli, tiny_run):
    """A folder may belong to another user."""
    mine = Path("mine")
    mine.write_text("untouched")
    Path("results/tiny/explore.html").symlink_to(mine.resolve())
    assert cli("explore", "tiny").exit_code == 2
    assert mine.read_text() == "untouched"
