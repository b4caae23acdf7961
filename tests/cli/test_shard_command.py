"""``--shard`` and ``merge`` on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Cli


def test_shards_are_merged_and_the_whole_command_finds_their_runs(tiny: Path, cli: Cli) -> None:
    """Nothing is left to run afterwards, and a shard writes no tables."""
    for number in (1, 2):
        found = cli("run", tiny, "--quick", "--jobs", "1", "--shard", f"{number}/2", "--results", f"part{number}")
        assert found.exit_code == 0, found.output
        assert f"shard {number}/2:" in found.stdout
        assert [file.name for file in Path(f"part{number}").iterdir()] == ["runs"]
    merged = cli("merge", "part1", "part2")
    assert merged.exit_code == 0, merged.output
    assert cli("run", tiny, "--quick", "--dry-run").stdout.splitlines()[-1].endswith("nothing")


def test_a_dry_run_of_a_shard_counts_its_runs_only(tiny: Path, cli: Cli) -> None:
    """The runs of all shards together are the whole."""

    def runs(*options: str) -> int:
        found = cli("run", tiny, "--quick", "--dry-run", *options)
        assert found.exit_code == 0, found.output
        return int(found.stdout.splitlines()[-1].split()[2])

    assert 0 < runs("--shard", "1/2") < runs()
    assert runs("--shard", "1/2") + runs("--shard", "2/2") == runs()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "tiny.yaml", "--shard", "0/2"), "--shard: is not a shard"),
        (("run", "tiny.yaml", "--shard", "1/2", "--output", "out"), "--output: cannot be combined with --shard"),
        (("check", "tiny.yaml", "--shard", "1/2", "--json"), "--json: cannot be combined with --shard"),
        (("check", "tiny.yaml", "--shard", "1/2", "--junit", "x.xml"), "--junit: cannot be combined with --shard"),
        (("merge", "nowhere"), "contains no runs; given nowhere"),
    ],
)
def test_what_a_shard_cannot_do_is_bad_input(tiny: Path, cli: Cli, arguments: tuple[str, ...], words: str) -> None:
    """Before anything is run."""
    found = cli(*arguments)
    assert found.exit_code == 2
    assert words in found.stderr
    assert not Path("results", "runs").exists()
