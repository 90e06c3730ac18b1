"""Presets and the file that overrides them."""

from __future__ import annotations

from pathlib import Path

import pytest

from sismo.errors import UsageError
from sismo.signals import presets, registry


def test_each_preset_has_every_threshold() -> None:
    for name in presets.NAMES:
        made = presets.preset(name)
        assert made.name == name
        assert set(made.values) == set(registry.thresholds())


def test_an_override_replaces_one_value(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    for text in ("spike-sigma = 4\n", "[thresholds]\nspike-sigma = 4.0\n"):
        file.write_text(text)
        assert presets.preset("robust", presets.read_overrides(file)).values["spike-sigma"] == 4.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("spike-sigmo = 4\n", "did you mean spike-sigma"),
        ("spike-sigma = 'four'\n", "must be a number"),
        ("spike-sigma = true\n", "must be a number"),
        ("spike-sigma = \n", "mine.toml"),
        ("thresholds = 3\n", "must be a table"),
    ],
)
def test_a_bad_file_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=message) as caught:
        presets.read_overrides(file)
    assert "\n" not in str(caught.value)


def test_unknown_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no preset"):
        presets.preset("strict")
    with pytest.raises(UsageError, match="no threshold"):
        presets.preset("robust", {"nothing-like-it": 1.0})
    with pytest.raises(UsageError):
        presets.read_overrides(tmp_path / "absent.toml")
