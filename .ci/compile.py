"""Compile the hot modules to ``build/compiled``, unless they are up to date.

Arguments are another folder, and further sources that are compiled together, so that their classes are native, too::

    python .ci/compile.py build/bench tests/bench/chain_world.py
"""

from __future__ import annotations

import gc
import os
import shutil
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from mypyc.build import mypycify
from setuptools import setup
from setuptools.command.build_ext import build_ext

from hostsim.campaign import code_version
from hostsim.campaign.processors import processor_count
from hostsim.engine import compiled

TYPES = "--config-file=.ci/mypyc.ini"
_SELDOM = ("policy", "traffic")
"""Folders of ``model/`` whose code takes 7 % of the time of runs, together with the modules in ``model/`` itself."""


class _FileByFile(build_ext):
    """Runs a compiler for each C file, as many in parallel as there are processors; setuptools builds one extension at a time."""

    def build_extensions(self) -> None:
        """Compile and link all extensions."""
        compiler = self.compiler
        one_after_another = compiler.compile

        def at_the_same_time(sources: Sequence[str], **options: Any) -> list[str]:
            # The largest takes a tenth of the total time, and must not be the last.
            largest_first = sorted(sources, key=os.path.getsize, reverse=True)
            futures = {
                file: pool.submit(one_after_another, [file], **_lighter(file, options)) for file in largest_first
            }
            return [objects for file in sources for objects in futures[file].result()]

        with ThreadPoolExecutor(processor_count()) as pool:
            compiler.compile = at_the_same_time
            super().build_extensions()


def _lighter(file: str, options: dict[str, Any]) -> dict[str, Any]:
    """The compiler's options for a C file: half of the code runs seldom and gets -O1, which takes two thirds of the time."""
    _, *module = Path(file).stem.split("___")  # ``__native_hostsim___model___traffic___web``
    if os.name != "posix" or module[:1] != ["model"] or (len(module) > 2 and module[1] not in _SELDOM):
        return options
    return {**options, "extra_postargs": [*options["extra_postargs"], "-O1"]}


def main(folder: Path = compiled.FOLDER, *beside: Path) -> None:
    """Compile, and replace an earlier result."""
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
        multi_file=True,
        group_name="hostsim",
        target_dir=c_sources,
    )
    if os.name == "posix":
        large = next(extension for extension in extensions if extension.name.endswith("__mypyc"))
        # Its functions are only called from within it, so calls are direct and may be inlined.
        large.extra_compile_args += ["-fno-semantic-interposition", "-fvisibility=hidden"]
    steps = [
        "build_ext",
        "--build-lib",
        str(unfinished),
        "--build-temp",
        c_sources,
        "--parallel",
        str(processor_count()),
    ]
    setup(
        name="hostsim-compiled",
        packages=[],
        ext_modules=extensions,
        script_args=steps,
        cmdclass={"build_ext": _FileByFile},
    )
    code_version.write_cache(unfinished / code_version.CACHE.name)
    (unfinished / compiled.DIGEST).write_text(found, encoding="ascii")
    shutil.rmtree(folder, ignore_errors=True)
    unfinished.rename(folder)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
    os._exit(0)  # freeing all objects would take a third of the work's time
