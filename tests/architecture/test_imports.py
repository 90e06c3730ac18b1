"""The import contracts of pyproject.toml hold, and every module has a docstring and a size that can be read in one sitting."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted((ROOT / "src" / "sismo").rglob("*.py"))


def test_the_import_contracts_hold() -> None:
    code = "from importlinter.cli import lint_imports; import sys; sys.exit(lint_imports(no_cache=True))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT / "src")))
def test_a_module_says_what_it_is_and_stays_small(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text)), "no docstring"
    assert len(text.splitlines()) <= 400
