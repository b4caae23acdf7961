"""Runs pytest in forked children of a process that has imported all libraries except hostsim.

Commands are read from standard input, one JSON object a line: ``arguments`` of pytest and seconds of CPU time, ``cpu_s``. The
answer to each is the exit status, negative where a signal ended the child.
"""

import importlib
import json
import os
import resource
import sys
import traceback

MEMORY = 4 << 30
"""Bytes of address space: a fault that makes a list grow forever ends as an error."""
LIBRARIES = (
    "pytest",
    "hypothesis.strategies",
    "numpy",
    "pydantic",
    "yaml",
    "xml.etree.ElementTree",
    "asyncio",
    "fractions",
)
REWRITTEN = "ignore::pytest.PytestAssertRewriteWarning"
"""Libraries that are pytest plugins need no rewriting of their assertions."""


def run(arguments: list[str], cpu_s: int) -> int:
    """Run pytest in a child and return its status."""
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        status = 70
        try:
            status = int(sys.modules["pytest"].main(["-W", REWRITTEN, *arguments]))
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(status)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def main() -> None:
    """Serve until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # pytest's output goes with the errors
    for library in LIBRARIES:
        importlib.import_module(library)
    for line in sys.stdin:
        command = json.loads(line)
        answers.write(f"{run(command['arguments'], command['cpu_s'])}\n")
        answers.flush()


if __name__ == "__main__":
    main()
