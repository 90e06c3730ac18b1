"""What every test may count on: English, no terminal, no colours wanted by the environment."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

# In CI the examples are the same every time, so that a submission is judged by what it changed; at home new ones are looked for.
# Neither has a deadline: in milliseconds it tests the machine.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("home", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "home")


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The language and the colours of whoever runs the tests have no say in them."""
    for name in ("SISMO_LANG", "LC_ALL", "LC_MESSAGES", "LANG", "NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHONIOENCODING", "utf-8")
