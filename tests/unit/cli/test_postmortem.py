"""``postmortem`` and ``fix`` as a user types them."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from support.runs import run as made

from sismo.cli.main import run as sismo
from sismo.records.types import Header
from sismo.records.writer import RunWriter

EXAMPLES = Path(__file__).parents[3] / "examples"
NAN, SPIKE, HEALTHY = (str(EXAMPLES / name) for name in ("lightning-nan.csv", "gpt-spike.log", "healthy.jsonl"))
HEADINGS = {
    "en": ["Symptoms", "Hypotheses", "Discriminating evidence", "Root cause", "The smallest change", "Verification", "Lesson"],
    "es": ["Síntomas", "Hipótesis", "Evidencia que discrimina", "Causa raíz", "El cambio más pequeño", "Verificación", "Lección"],
}


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A run folder in which the gradient norm grows until the loss is lost."""
    folder = tmp_path / "run"
    source = made(loss=np.linspace(3, 2, 300), norm=np.ones(300), lr=np.full(300, 1e-3))
    loss, norm = source.series["loss/train"].values.copy(), source.series["grad_norm/pre"].values.copy()
    norm[240:260] = np.geomspace(2, 900, 20)
    loss[250:260] = np.geomspace(3, 40, 10)
    loss[260:] = norm[260:] = np.nan
    with RunWriter(folder, Header("sismo-run", dtype="bf16")) as writer:
        for step in range(300):
            writer.row(step, {"loss/train": loss[step], "grad_norm/pre": norm[step], "lr/0": 1e-3})
    return folder


@pytest.mark.parametrize("lang", ["en", "es"])
@pytest.mark.parametrize("path", [NAN, SPIKE, HEALTHY])
def test_it_has_seven_parts(path: str, lang: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert sismo(["postmortem", path, "--lang", lang]) == 0
    text = capsys.readouterr().out
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        f"## {place}. {heading}" for place, heading in enumerate(HEADINGS[lang], 1)
    ]


def test_a_run_folder_gets_it_beside_its_pictures(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sismo(["postmortem", str(recorded)]) == 0
    text = (recorded / "postmortem.md").read_text(encoding="utf-8")
    assert "exploding-gradients" in text
    assert "](<postmortem.svg>)" in text
    assert ElementTree.parse(recorded / "postmortem.svg").getroot().tag.endswith("svg")
    assert "postmortem.md" in capsys.readouterr().out


def test_written_twice_it_is_the_same_to_the_last_byte(recorded: Path) -> None:
    names = ("postmortem.md", "postmortem.svg", "postmortem.html")
    first = []
    for _ in range(2):
        assert sismo(["postmortem", str(recorded)]) == 0
        assert sismo(["postmortem", str(recorded), "--format", "html"]) == 0
        first.append([(recorded / name).read_bytes() for name in names])
    assert first[0] == first[1]


def test_a_persons_words_are_kept_and_never_written_over(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = recorded / "postmortem.md"
    assert sismo(["postmortem", str(recorded)]) == 0
    written = target.read_text(encoding="utf-8")
    target.write_text(written.replace("## 7. Lesson", "## 7. Lesson\n\nMine.") + "\nSigned, B.\n", encoding="utf-8")
    assert sismo(["postmortem", str(recorded)]) == 2
    assert "--edit-in-place" in capsys.readouterr().err
    assert sismo(["postmortem", str(recorded), "--edit-in-place", "--lang", "es"]) == 0
    text = target.read_text(encoding="utf-8")
    assert "Mine." in text
    assert "Signed, B." in text
    assert "## 1. Síntomas" in text
    assert "lesson" in capsys.readouterr().out


def test_a_file_of_another_kind_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "notes.md"
    for content in (b"my notes\n", b"\xff\xfe\x00"):
        target.write_bytes(content)
        assert sismo(["postmortem", NAN, "-o", str(target)]) == 2
        assert target.read_bytes() == content
        assert len(capsys.readouterr().err.splitlines()) == 1


def test_html_is_one_file_without_a_network(tmp_path: Path) -> None:
    target = tmp_path / "a.html"
    assert sismo(["postmortem", NAN, "-o", str(target)]) == 0
    text = target.read_text(encoding="utf-8")
    assert text.count("<svg") >= 3
    assert "src=" not in text
    assert "href=" not in text


def test_what_a_log_says_cannot_become_markup(tmp_path: Path) -> None:
    shutil.copy(NAN, tmp_path / "<b>*x*.csv")
    for form, raw in (("html", "<b>*x"), ("md", "<b>*x*")):
        assert sismo(["postmortem", str(tmp_path / "<b>*x*.csv"), "--format", form, "-o", str(tmp_path / f"out.{form}")]) == 0
        assert raw not in (tmp_path / f"out.{form}").read_text(encoding="utf-8")


@pytest.mark.parametrize("command", ["postmortem", "fix"])
def test_bad_input_is_one_line(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "poem.txt").write_text("roses are red\n")
    for path in (tmp_path / "poem.txt", tmp_path / "nowhere.log"):
        assert sismo([command, str(path)]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1


def test_fix_prints_a_recipe_and_saves_a_patch_that_applies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "train.yaml"
    config.write_text("lr: 1e-3  # peak\nmax_grad_norm: 1.0\n", encoding="utf-8")
    assert sismo(["fix", NAN, "--config", str(config), "--write", str(tmp_path / "fixes")]) == 0
    assert "gradient clip" in capsys.readouterr().out
    recipe = json.loads((tmp_path / "fixes" / "fix.json").read_text(encoding="utf-8"))
    assert (recipe["cause"], recipe["kind"], recipe["settings"]["lr"]["to"]) == ("exploding-gradients", "recipe", 0.0005)
    subprocess.run(["patch", "-p0", "--quiet", str(config)], input=(tmp_path / "fixes" / "fix.patch").read_bytes(), check=True)
    assert config.read_text(encoding="utf-8") == "lr: 0.0005  # peak\nmax_grad_norm: 0.5\n"


def test_fix_as_json(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sismo(["fix", str(recorded), "--json"]) == 0
    recipe = json.loads(capsys.readouterr().out)
    assert recipe["schema"] == "sismo.fix/1"
    assert recipe["restart"]["step"] is None
    assert {"expect", "run", "within"} <= set(recipe["verify"])


def test_fix_says_why_it_prescribes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sismo(["fix", HEALTHY, "--write", str(tmp_path / "fixes")]) == 1
    assert "nothing that has to change" in capsys.readouterr().out
    assert not (tmp_path / "fixes").exists()


def test_fix_of_a_configuration_that_cannot_be_read_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sismo(["fix", NAN, "--config", str(tmp_path / "none.yaml")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
