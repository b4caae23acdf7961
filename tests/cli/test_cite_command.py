"""`hostsim cite` prints the origin of a number."""

from __future__ import annotations


def test_cite_prints_each_publication_once_with_what_rests_on_it(cli):
    """A reader sees the title, the address and the claims."""
    done = cli("cite", "numa.40g.*", "40gbe.multi.cpu")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert len(lines) == 4
    assert "Rishi Mehta, “Network Improvements in vSphere 6" in lines[0]
    assert lines[1].strip().startswith("https://blogs.vmware.com/performance/2015/04/")
    assert lines[2:] == [
        "  figure 3 and its text: numa.40g.throughput, numa.40g.cpu",
        "  figure 2 and its text: 40gbe.multi.cpu",
    ]


def test_cite_of_a_scenario_has_its_claims_and_its_inputs(cli):
    """Constants and assumptions also come from publications."""
    done = cli("cite", "latency")
    assert "  text: latency.tuned" in done.stdout
    assert "esxi.costs.vmk_call" in done.stdout


def test_cite_without_arguments_is_how_to_cite_hostsim(cli):
    """In words, and as BibTeX."""
    assert cli("cite").stdout.startswith("The hostsim developers, “hostsim: ")
    assert cli("cite", "--bibtex").stdout.startswith("@misc{hostsim,\n  title = {{hostsim: ")
    assert cli("cite", "smalludp.rings", "--bibtex").stdout.startswith("@misc{drummonds-small-udp,")


def test_cite_refuses_what_is_no_subject(cli):
    """The error has the nearest name."""
    done = cli("cite", "splitr")
    assert done.exit_code == 2
    assert "given 'splitr'" in done.stderr
    assert "did you mean 'splitrx'?" in done.stderr


def test_cite_of_a_subject_prints_what_each_publication_says(cli):
    """A text names "facts 2.2"; a reader sees the numbers behind it, their place and address."""
    done = cli("cite", "facts 2.2")
    assert done.exit_code == 0, done.output
    first = done.stdout.splitlines()[:4]
    assert first[0].startswith("Ole Agesen et al., ")
    assert first[1].startswith("  https://")
    assert first[2].startswith("  table 1: Exit and entry in hardware: ")
    assert first[3].startswith("  section 9: 3,000 cycles (0.9 us at 3.33 GHz) ")
    assert cli("cite", "facts 2.2", "--bibtex").stdout.startswith("@inproceedings{agesen-exits,")
