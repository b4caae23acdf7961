"""Compile the hot modules to ``build/compiled``, unless they are there. Messages of compilers go to stdout and stderr.

With arguments: to another folder, together with other sources, whose classes are then native as theirs are::

    python .ci/compile.py build/bench tests/bench/chain_world.py
"""

from __future__ import annotations

import gc
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from mypyc.build import mypycify
from setuptools import setup

from hostsim.campaign.processors import processor_count
from hostsim.engine import compiled

TYPES = "--config-file=.ci/mypyc.ini"


def _is_gcc() -> bool:
    """True where the C compiler of this interpreter is GCC, whatever its name."""
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC"))
    asked = subprocess.run([*compiler, "--version"], check=False, capture_output=True, text=True)  # noqa: S603  CC's
    return "Free Software Foundation" in asked.stdout


def main(folder: Path = compiled.FOLDER, *beside: Path) -> None:
    """Compile, and put the result in place of an earlier one."""
    if compiled.fits(folder=folder, beside=beside):
        return
    found = compiled.digest(beside=beside)
    unfinished = folder.with_suffix(".new")
    c_sources = os.path.relpath(folder.with_suffix(".c"))
    shutil.rmtree(unfinished, ignore_errors=True)
    gc.disable()  # millions of objects live until the end
    sources = compiled.modules(), compiled.covered()
    hot, read = ([os.path.relpath(file) for file in (*files, *beside)] for files in sources)
    extensions = mypycify(
        [TYPES, *read],
        only_compile_paths=hot,
        opt_level="2",
        debug_level="0",
        group_name="hostsim",
        target_dir=c_sources,
    )
    if os.name == "posix":
        large = next(extension for extension in extensions if extension.name.endswith("__mypyc"))
        # Nobody else provides its functions, so that one may be compiled into another; GCC, when it optimizes as it links,
        # takes all processors for what is one file.
        late = ["-flto=auto"] if _is_gcc() else []
        flags = [*large.extra_compile_args, "-fno-semantic-interposition", "-fvisibility=hidden", *late]
        large.extra_compile_args = flags
        large.extra_link_args = flags if late else []
    steps = [
        "build_ext",
        "--build-lib",
        str(unfinished),
        "--build-temp",
        c_sources,
        "--parallel",
        str(processor_count()),
    ]
    setup(name="hostsim-compiled", packages=[], ext_modules=extensions, script_args=steps)
    (unfinished / compiled.DIGEST).write_text(found, encoding="ascii")
    shutil.rmtree(folder, ignore_errors=True)
    unfinished.rename(folder)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
    os._exit(0)  # taking it all apart would last as long as a third of the work
