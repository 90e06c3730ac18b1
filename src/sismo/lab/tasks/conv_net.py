"""ConvNet on pictures of stripes."""

from __future__ import annotations

from sismo.lab.corpora.gratings import data
from sismo.lab.models.conv_net import ConvNet
from sismo.lab.setup import ordinary
from sismo.lab.types import Settings, Task

SETTINGS = Settings(total_steps=600, batch=64, warmup=50, rows=6000, lr=3e-3, lr_min=1e-4, weight_decay=0.01, eval_every=25, save_every=100)
TASK = Task(
    "conv-net", "a convolutional net of 10 k parameters that tells the direction of stripes", ordinary(SETTINGS, data=data, model=ConvNet)
)
