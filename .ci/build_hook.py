"""Build hook of the wheel: compiles the hot modules into it, or leaves a pure wheel if that fails.

``HOSTSIM_PURE=1`` requests the pure wheel. An editable installation has no compiled modules; `make setup` compiles
those of a checkout.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledModules(BuildHookInterface):  # type: ignore[type-arg]  # generic in hatchling's sources, not when it runs
    """Adds compiled modules to a wheel, and the tag of their interpreter and platform."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before the wheel is assembled."""
        if version == "editable" or os.environ.get("HOSTSIM_PURE"):
            return
        root = Path(self.root)
        # pip passes on the environment of the build, including mypyc, by this variable
        path = os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])])
        made = subprocess.run(  # noqa: S603  the project's own compiler
            [sys.executable, root / ".ci" / "compile.py"],
            check=False,
            cwd=root,
            env={**os.environ, "PYTHONPATH": path, "HOSTSIM_PURE": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        folder = root / "build" / "compiled"
        if made.returncode or not folder.is_dir():
            last = "\n".join(made.stdout.splitlines()[-5:])
            self.app.display_warning(
                f"hostsim could not be compiled; the wheel is pure, and eight to seventeen times slower:\n{last}"
            )
            return
        build_data["force_include"][str(folder)] = "hostsim/compiled_modules"
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
