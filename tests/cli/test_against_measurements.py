"""``check --against FILE``: a scenario judged by measurements of a host."""

from __future__ import annotations


def test_measurements_are_judged(cli, tiny, tmp_path):
    """``check --against FILE``: agreement gives status 0, disagreement 1; a distant number is red."""
    (tmp_path / "measured.csv").write_text("receivers,rate,metric,value,interval\n1,5 kpps,rx_rate,5,0.5\n")
    done = cli("check", tiny, "--quick", "--jobs", "1", "--against", "measured.csv")
    assert (done.exit_code, "rx_rate at receivers=1, rate=5 kpps" in done.stdout) == (0, True)
    (tmp_path / "measured.csv").write_text("metric,value,interval\nrx_rate,7,0.5\n")
    done = cli("check", tiny, "--quick", "--jobs", "1", "--against", "measured.csv")
    assert done.exit_code == 1
    assert "fail" in done.stdout


def test_measurements_are_of_one_scenario(cli, tiny, tmp_path):
    """A file that is not a table of measurements is refused with its line."""
    (tmp_path / "measured.csv").write_text("metric,value,interval\nrx_rat,7,0.5\n")
    done = cli("check", "--against", "measured.csv")
    assert (done.exit_code, "--against: measurements belong to one host; given no scenario" in done.stderr) == (2, True)
    done = cli("check", tiny, "--against", "measured.csv")
    assert done.exit_code == 2
    assert "measured.csv:2: metric: unknown metric" in done.stderr


def test_a_tolerance_is_for_earlier_results(cli, tiny, tmp_path):
    """Claims and measurements have bands, to which a tolerance would not apply."""
    (tmp_path / "measured.csv").write_text("metric,value,interval\nrx_rate,5,0.5\n")
    for against in ((), ("--against", "measured.csv")):
        done = cli("check", tiny, "--quick", "--tolerance", "5 %", *against)
        assert (done.exit_code, done.stdout) == (2, "")
        assert "--tolerance: applies to a comparison with earlier results" in done.stderr
