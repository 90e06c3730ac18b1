"""MiniGPT on English verbs."""

from __future__ import annotations

from sismo.lab.corpora.verbs import data
from sismo.lab.models.mini_gpt import MiniGPT
from sismo.lab.setup import ordinary
from sismo.lab.types import Settings, Task

TASK = Task("mini-gpt", "a transformer of 103 k parameters that learns English verbs", ordinary(Settings(), data=data, model=MiniGPT))
