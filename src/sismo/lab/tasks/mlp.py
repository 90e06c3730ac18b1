"""MLP on tables."""

from __future__ import annotations

from sismo.lab.corpora.tables import data
from sismo.lab.models.mlp import MLP
from sismo.lab.setup import ordinary
from sismo.lab.types import Settings, Task

SETTINGS = Settings(total_steps=600, batch=64, warmup=50, rows=5000, lr=3e-3, lr_min=1e-4, weight_decay=0.01, eval_every=25, save_every=100)
TASK = Task("mlp", "a perceptron of 6 k parameters that sorts the rows of a table", ordinary(SETTINGS, data=data, model=MLP))
