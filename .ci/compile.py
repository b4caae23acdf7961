"""Compile the hot modules to ``build/compiled``, unless they are there. Messages of compilers go to stdout and stderr."""

from __future__ import annotations

import gc
import os
import shutil

from mypyc.build import mypycify
from setuptools import setup

from hostsim import compiled

C_SOURCES = "build/c"


def main() -> None:
    """Compile, and put the result in place of an earlier one."""
    if compiled.fits():
        return
    found = compiled.digest()
    unfinished = compiled.FOLDER.with_suffix(".new")
    shutil.rmtree(unfinished, ignore_errors=True)
    gc.disable()  # millions of objects live until the end
    sources = [os.path.relpath(source) for source in compiled.modules()]
    extensions = mypycify(sources, opt_level="2", debug_level="0", group_name="hostsim", target_dir=C_SOURCES)
    if os.name == "posix":
        for extension in extensions:
            # nobody else provides its functions, so that one may be compiled into another
            extension.extra_compile_args = [*extension.extra_compile_args, "-fno-semantic-interposition"]
    steps = ["build_ext", "--build-lib", str(unfinished), "--build-temp", C_SOURCES]
    setup(name="hostsim-compiled", packages=[], ext_modules=extensions, script_args=steps)
    (unfinished / compiled.DIGEST).write_text(found, encoding="ascii")
    shutil.rmtree(compiled.FOLDER, ignore_errors=True)
    unfinished.rename(compiled.FOLDER)


if __name__ == "__main__":
    main()
    os._exit(0)  # taking it all apart would last as long as a third of the work
