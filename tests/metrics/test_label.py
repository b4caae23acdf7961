"""Every metric has words and a unit to print."""

from __future__ import annotations

import pytest

from hostsim.results.metrics.catalogue import CATALOGUE, in_sentence, label_of, spelt, unit_of


def test_every_metric_has_a_label_of_its_own() -> None:
    """None is just its name in words but those whose name is a word, and no two are alike."""
    labels = {name: label_of(name) for name in CATALOGUE}
    assert len(set(labels.values())) == len(labels)
    assert [name for name, label in labels.items() if label == spelt(name)] == []


@pytest.mark.parametrize(
    ("label", "inside"),
    [("Packet loss", "packet loss"), ("NUMA I/O in effect", "NUMA I/O in effect"), ("NetPoll", "NetPoll"), ("", "")],
)
def test_a_label_inside_a_sentence_loses_its_capital_unless_it_is_a_name(label: str, inside: str) -> None:
    assert in_sentence(label) == inside


def test_units_are_printed_as_in_print() -> None:
    """A ratio has none, microseconds have their Greek letter."""
    assert [unit_of(name) for name in ("latency_mean", "rx_tx_ratio", "transactions", "loss", "one_of_ones_own")] == [
        *("µs", "", "1/s", "%", ""),
    ]
