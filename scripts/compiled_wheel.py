"""Compiles the path of a request by mypyc into the wheel, where that is asked for (a build hook).

    HATCH_BUILD_HOOK_ENABLE_CUSTOM=true pip install .

`modules` of the hook in pyproject.toml says which; all share one library. The sources stay in the
wheel: `MOCKBROKER_PURE=1` runs them. What is made on the way lies in build/mypyc. MYPYC_OPT_LEVEL
is the C compiler's -O, which takes most of the time.
"""

from __future__ import annotations

import os
import sys
from contextlib import chdir
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from mypyc.build import mypycify
from setuptools import Distribution
from setuptools.command.build_ext import build_ext

INTERNAL = ["-fvisibility=hidden"]
"""What the modules of the one library call of each other is called directly, which takes a tenth
off a request: nobody else links with it."""
if sys.platform == "linux":
    INTERNAL += ["-fno-semantic-interposition", "-fno-plt"]


class CompiledModules(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and have each library taken into the wheel beside its source."""
        if version == "editable":
            return
        with chdir(self.root):
            libraries = compile_sources(self.config["modules"])
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        build_data["force_include"].update(libraries)


def compile_sources(sources: list[str]) -> dict[str, str]:
    """Where each library is, and where it belongs in the wheel."""
    work = Path("build", "mypyc", f"{sys.implementation.cache_tag}-{sys.platform}")
    # Where it is built none of our dependencies need be: who else imports them is not looked at.
    options = ("--ignore-missing-imports", "--follow-imports=silent")
    extensions = mypycify(
        ["--config-file=pyproject.toml", *options, *sources],
        opt_level=os.environ.get("MYPYC_OPT_LEVEL", "2"),
        debug_level="0",
        target_dir=str(work / "c"),
        group_name="mockbroker",
    )
    for extension in extensions:
        extension.extra_compile_args += INTERNAL
        extension.depends.append(__file__)
    command = build_ext(Distribution({"name": "mockbroker", "ext_modules": extensions}))
    command.build_lib = str(work / "lib")
    command.build_temp = str(work / "temp")
    command.ensure_finalized()
    command.run()
    made = [Path(library) for library in command.get_outputs()]
    return {str(path.resolve()): str(path.relative_to(work / "lib")) for path in made}
