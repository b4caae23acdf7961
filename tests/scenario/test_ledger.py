"""The ledger of first predictions: entries are added and never change, and a digest detects changed inputs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from hostsim.errors import InputError
from hostsim.lab.prediction import FirstPrediction, add, input_files, inputs_digest, ledger_of, read_ledger
from hostsim.results.search_answer import Bound
from hostsim.scenario.load import load
from hostsim.scenario.scenario import Scenario
from hostsim.scenario.shipped_data import LEDGER, data_root, predictions, shipped_parts
from hostsim.scenario.yaml.reader import parse
from tests.loaded import loaded
from tests.scenario.small_scenario import changed
from tests.writable_copy import copy_tree

OWN = "name: mine\n    metric: loss\n    at: {receivers: 2}\n    between: [0, 1 %]"
PREDICTS = "measurement: esx5-latency.most\n    metric: latency_mean\n    at: {receivers: 2}"
ENTRY = FirstPrediction(
    date="2026-01-02",
    inputs="1234567890",
    digest="12e4567890",
    code="0123",
    value=14.0,
    interval=(13.5, None),
    bound=Bound.AT_LEAST,
    fidelity="quick",
    seed=3,
    hostsim="0.1.0",
)


def test_what_is_added_is_read_again_behind_what_was_there(tmp_path: Path) -> None:
    """Texts of digits stay texts; manual additions below an entry stay, too."""
    file = tmp_path / LEDGER
    assert read_ledger(file) == {}
    add(file, {"esx5-latency.most": ENTRY})
    file.write_text(file.read_text(encoding="utf-8") + "  changed_for: a wait\n", encoding="utf-8")
    before = file.read_text(encoding="utf-8")
    add(file, {"esxi55-40g.1vcpu": ENTRY.model_copy(update={"value": 1e-7, "bound": None})})
    assert file.read_text(encoding="utf-8").startswith(before)
    assert read_ledger(file) == {
        "esx5-latency.most": ENTRY.model_copy(update={"changed_for": "a wait"}),
        "esxi55-40g.1vcpu": ENTRY.model_copy(update={"value": 1e-7, "bound": None}),
    }


def test_an_entry_cannot_be_overwritten(tmp_path: Path) -> None:
    """Nothing is written then, not even for a measurement without an entry."""
    file = tmp_path / LEDGER
    add(file, {"esx5-latency.most": ENTRY})
    before = file.read_bytes()
    again = {"esxi55-40g.1vcpu": ENTRY, "esx5-latency.most": ENTRY.model_copy(update={"value": 50.0})}
    with pytest.raises(InputError) as caught:
        add(file, again)
    (fault,) = caught.value.faults
    assert (fault.path, fault.line, fault.given) == ("esx5-latency.most", 3, "14")
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "esx5-latency.most:",
            "esx5-latency.mots:",
            "esx5-latency.mots: unknown measurement; given 'esx5-latency.mots'",
        ),
        ('fidelity: "quick"', "fidelity: slow", "esx5-latency.most.fidelity: "),
        ("  seed: 3\n", "", "esx5-latency.most.seed: "),
        ("  seed: 3\n", "  seed: 3\n  value_2: 1\n", "esx5-latency.most.value_2: unknown key"),
    ],
)
def test_a_ledger_that_is_not_sound_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    """The error has the file and the line."""
    file = tmp_path / LEDGER
    add(file, {"esx5-latency.most": ENTRY})
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_ledger(file)
    assert said in str(caught.value)
    assert f"{LEDGER}:" in str(caught.value)


def scenario(folder: Path, *changes: tuple[str, str]) -> Scenario:
    file = folder / "small.yaml"
    file.write_text(changed((OWN, PREDICTS), *changes), encoding="utf-8")
    return load(file)


def test_a_digest_is_of_the_inputs_by_meaning(tmp_path: Path) -> None:
    """Comments, reasons, questions, figures and other measurements change nothing; traffic and the expectation do."""
    assumed = 'rate: {value: 40 kpps, assumed: "A reason.", range: [1 kpps, 50 kpps]}'
    rates = (assumed, assumed.replace("A reason", "The same in other words"), assumed.replace("50 kpps", "60 kpps"))
    first, reworded, wider = (
        inputs_digest(scenario(tmp_path, ("rate: 40 kpps", rate)), "esx5-latency.most") for rate in rates
    )
    assert first == reworded != wider
    digest = inputs_digest(scenario(tmp_path), "esx5-latency.most")
    other = "measurement: esx5-latency.overcommitted\n    metric: latency_mean\n    at: {receivers: 1}\n  - "
    for same in (
        ("question: What happens?", "question: What else?  # a comment"),
        ("loss: {x: receivers", "lost: {x: receivers"),
        ("measurement: ", other + "measurement: "),
    ):
        assert inputs_digest(scenario(tmp_path, same), "esx5-latency.most") == digest
    for another in (("rate: 40 kpps", "rate: 41 kpps"), ("at: {receivers: 2}", "at: {receivers: 1}")):
        assert inputs_digest(scenario(tmp_path, another), "esx5-latency.most") != digest


def test_servers_and_files_beside_a_scenario_are_inputs_and_platforms_are_not(tmp_path: Path) -> None:
    """A shipped server counts, as it is a fact; a shipped platform or guest has costs and belongs to the model."""
    shipped = scenario(tmp_path)
    assert input_files(shipped) == (tmp_path / "small.yaml", shipped_parts("hardware")["dell-r810"])
    copy_tree(shipped_parts("hardware")["dell-r810"], tmp_path / "box.yaml")
    own = scenario(tmp_path, ("hardware: dell-r810", "hardware: box.yaml"))
    assert input_files(own) == (tmp_path / "small.yaml", tmp_path / "box.yaml")
    digest = inputs_digest(own, "esx5-latency.most")
    box = tmp_path / "box.yaml"
    box.write_text(
        box.read_text(encoding="utf-8").replace("rx_ring:", "# a comment\n    rx_ring:", 1), encoding="utf-8"
    )
    assert inputs_digest(own, "esx5-latency.most") == digest
    box.write_text(box.read_text(encoding="utf-8").replace("sockets: 2", "sockets: 1"), encoding="utf-8")
    assert inputs_digest(own, "esx5-latency.most") != digest


def test_an_entry_whose_digest_includes_reasons_is_of_the_same_inputs_by_the_digest_without() -> None:
    """That digest is added manually; an entry with other inputs has neither."""
    entry = ENTRY.model_copy(update={"without_reasons": "9d9b346293c5a0f7"})
    assert [entry.is_of(digest) for digest in (ENTRY.digest, "9d9b346293c5a0f7", "another")] == [True, True, False]
    assert not ENTRY.is_of("9d9b346293c5a0f7")


def test_the_shipped_ledger_is_of_predictions_that_are_shipped() -> None:
    """It is valid, and each of its measurements still has a scenario."""
    named = {entry.name for name in predictions() for entry in loaded(name).expectations}
    assert read_ledger(data_root() / "predictions" / LEDGER).keys() <= named


def test_no_commit_has_changed_an_entry_or_taken_one_away() -> None:
    """Everything in the history is in the ledger unchanged, except for manual additions: a changed mechanism, and the digest without reasons."""
    file = ledger_of(load(next(iter(predictions()))))
    now = entries(file.read_text(encoding="utf-8")) if file.is_file() else {}
    log = git(file.parent, "log", "--format=%H", "--", file.name)
    for commit in log.split():
        then = entries(git(file.parent, "show", f"{commit}:./{file.name}"))
        assert {name: now.get(name) for name in then} == then, commit


def test_the_inputs_of_every_entry_were_committed_before_its_value() -> None:
    """In this history, and not in the commit that added the value."""
    file = data_root() / "predictions" / LEDGER
    for name, entry in read_ledger(file).items():
        assert git(file.parent, "log", "-1", "--format=%H", entry.inputs).strip() == entry.inputs
        came = git(file.parent, "log", "--reverse", "--format=%H", f"-S{name}:", "--", file.name).split()[:1]
        before = git(file.parent, "rev-list", f"{(came or ['HEAD'])[0]}{'^' if came else ''}").split()
        assert entry.inputs in before, name


def entries(text: str) -> dict[str, dict[str, object]]:
    tree = parse(text, LEDGER).tree
    by_hand = ("changed_for", "without_reasons")
    return {name: {key: value for key, value in entry.items() if key not in by_hand} for name, entry in tree.items()}


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(("git", *arguments), cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("no history of the repository is here")
    return done.stdout
