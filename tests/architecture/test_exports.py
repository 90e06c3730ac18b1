"""The public door: what is offered is what is visible, and asking for it is cheap."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import sismo

ROOT = Path(__file__).parents[2]


def test_all_is_what_is_visible() -> None:
    code = "import sismo; print(sorted(n for n in dir(sismo) if not n.startswith('_') and n not in ('annotations', 'TYPE_CHECKING')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(sorted(sismo.__all__))


def test_importing_sismo_loads_no_library() -> None:
    code = "import sys, sismo; print(sorted({'numpy', 'click', 'pyarrow', 'torch'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = [*project["dependencies"], *(name for extra in project["optional-dependencies"].values() for name in extra)]
    pinned = {
        line.partition("==")[0].lower() for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines() if "==" in line
    }
    assert {name.partition(">")[0].partition("[")[0].lower() for name in asked} <= pinned
