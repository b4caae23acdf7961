"""Examples of the page about clusters, as far as they can be tested without Slurm and Kubernetes."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

import pytest
import typer

from hostsim.cli.app import app

EXAMPLES = Path(__file__).parents[2] / "docs/examples"


@pytest.mark.parametrize("name", ["slurm-array.sh", "dask-cluster.sh"])
def test_a_job_script_is_one_that_the_shell_reads(name: str) -> None:
    """Only the syntax is checked: nothing is run."""
    assert subprocess.run(["bash", "-n", EXAMPLES / name], check=False).returncode == 0


def test_the_options_of_the_job_array_are_those_of_the_command() -> None:
    """Slurm's variables are replaced by numbers."""
    line = (EXAMPLES / "slurm-array.sh").read_text().splitlines()[-1].replace('"', "")
    words = line.replace("$SLURM_ARRAY_TASK_ID", "2").replace("$SLURM_ARRAY_TASK_COUNT", "20").split()
    command = typer.main.get_command(app).get_command(None, words[1])  # type: ignore[attr-defined]
    given = command.make_context(words[1], words[2:]).params
    assert (given["shard"], given["jobs"], str(given["results"])) == ("2/20", 4, "shards/2")


@pytest.mark.parametrize("name", ["slurm_cluster.py", "kubernetes_cluster.py"])
def test_a_client_guards_its_main_module(name: str) -> None:
    """Otherwise spawned workers would run it again."""
    tree = ast.parse((EXAMPLES / name).read_text())
    assert isinstance(tree.body[-1], ast.If)
    assert ast.unparse(tree.body[-1].test) == "__name__ == '__main__'"
