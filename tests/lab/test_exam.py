"""The exam from end to end, through the command line: what it leaves on disk, what it hides, and that sismo passes it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from sismo.cli.main import run
from sismo.lab import exam
from sismo.records.reader import read_run

pytestmark = pytest.mark.slow

STEPS = 600
_NAMES = re.compile(r"bad.?init|no.?warmup|broken.?mask|init-too-large|missing-warmup|causal-mask-broken", re.IGNORECASE)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("experiments")
    assert run(["lab", "run", "--root", str(folder), "--seed", "11", "--steps", str(STEPS), "--lang", "en"]) == 0
    return folder


def folders(root: Path) -> list[Path]:
    return [root / exam.EXAM / number for number in ("01", "02", "03")]


def test_each_run_has_its_manifest_and_its_page(root: Path) -> None:
    for folder in (root / exam.HEALTHY, *folders(root)):
        assert (folder / "manifest.json").is_file()
        assert (folder / exam.PAGE).stat().st_size > 50_000
        assert read_run(folder).header.total_steps == STEPS
    assert not list(root.glob(".lab-*"))


def test_nothing_gives_it_away(root: Path) -> None:
    headers = []
    for folder in folders(root):
        for path in folder.rglob("*"):
            assert not _NAMES.search(str(path.relative_to(root)))
            if path.is_file() and path.name != exam.PAGE:
                assert not _NAMES.search(path.read_bytes().decode("latin-1"))
        body = (folder / exam.PAGE).read_text()
        assert "Sealed" in body
        assert ".lab-" not in body  # the folder that it was made in
        assert not _NAMES.search(re.sub(r"<script.*?</script>", "", body, flags=re.DOTALL))
        header = json.loads((folder / "manifest.json").read_text())["header"]
        header["config"]["sismo"].pop("cadence")
        headers.append(header)
    assert headers[0] == headers[1] == headers[2]
    assert len({path.stat().st_mtime for folder in folders(root) for path in folder.rglob("*") if path.is_file()}) == 1


def test_sismo_passes_through_the_same_door(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lab", "run", "--root", str(root)]) == 2
    assert "--again" in capsys.readouterr().err
    assert run(["lab", "exam", "--auto", "--root", str(root), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["right"], said["of"]) == (3, 3)
    assert {one["truth"] for one in said["runs"]} == set(exam.FAILURES)
    assert run(["lab", "answer", "01", "bad-init", "--because", "late", "--root", str(root)]) == 2
    assert all("Sealed" not in (folder / exam.PAGE).read_text() for folder in folders(root))
    assert run(["lab", "reveal", "--root", str(root), "--lang", "es"]) == 0
    assert "3 de 3" in capsys.readouterr().out


def test_the_healthy_run_is_healthy(root: Path) -> None:
    assert run(["diagnose", str(root / exam.HEALTHY)]) == 0


def test_a_post_mortem_of_each_names_its_cause(root: Path) -> None:
    roots = []
    for folder in folders(root):
        assert run(["postmortem", str(folder), "--lang", "en"]) == 0
        assert (folder / "postmortem.svg").is_file()
        roots += re.findall(r"## 4\. Root cause\n\n\*\*.*?([a-z]+(?:-[a-z]+)+)", (folder / "postmortem.md").read_text(encoding="utf-8"))
    assert sorted(roots) == ["causal-mask-broken", "init-too-large", "missing-warmup"]
