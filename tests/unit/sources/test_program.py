"""A file that holds lines of a log as examples is no log: source code of any language, a notebook. A log that shows code is one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sismo.errors import UnrecognisedLog
from sismo.sources import load

PYTHON = '''"""Tests of a parser."""
import pytest
from tools import parse

SAMPLE = """
step 100 | loss 2.345 | lr 1e-3
step 200 | loss 2.101 | lr 9e-4
"""


def test_a_lost_loss_is_read() -> None:
    lines = ["epoch 1: loss=nan", "epoch 2: loss=nan"]
    assert parse(lines[0]) == {"loss": float("nan")}
    assert parse("iter 20: loss nan, time 12.3ms")["loss"] != 0
'''
LOOP = """import torch

def main():
    for epoch in range(10):
        loss = 0.0
        for x, y in loader:
            loss += step(x, y)
        print(f"epoch {epoch} loss {loss:.4f}")
    lr = 3e-4
    # step 0: loss 10.9
    # step 250: loss nan
    return loss
"""
SHELL = """#!/bin/bash
# step 10 loss 3.2
python train.py --lr 3e-4 --steps 1000
echo "step 1 loss 0.0"
echo "step 2 loss nan"
"""
C = """#include <stdio.h>
int main(void) {
    for (int i = 0; i < 3; i++) printf("step %d loss %f\\n", i, 0.0);
    /* step 1 loss 3.0 */
    /* step 2 loss nan */
    float loss = 0.0;
    return 0;
}
"""
ROWS = "".join(f"step {step} loss {3 * 0.99**step:.4f}\n" for step in range(30))
EQUAL = "".join(f"epoch {epoch} loss={3 * 0.99**epoch:.4f} acc=0.3\n" for epoch in range(30))
CRASH = """Traceback (most recent call last):
  File "train.py", line 9, in <module>
    from model import build
  File "model.py", line 3, in build
    def forward(self, x):
RuntimeError: CUDA error: device-side assert triggered
"""


@pytest.mark.parametrize("text", [PYTHON, LOOP, SHELL, C])
@pytest.mark.parametrize("name", ["train.py", "train.log"])
def test_source_code_is_refused_whatever_its_name(tmp_path: Path, text: str, name: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(UnrecognisedLog, match="source of a program"):
        load(str(tmp_path / name))


def test_a_notebook_is_refused(tmp_path: Path) -> None:
    cell = {"cell_type": "code", "outputs": [{"name": "stdout", "text": ["step 0 loss nan\n", "step 1 loss nan\n"]}], "source": [LOOP]}
    (tmp_path / "look.ipynb").write_text(json.dumps({"cells": [cell], "nbformat": 4}))
    with pytest.raises(UnrecognisedLog, match="a notebook"):
        load(str(tmp_path / "look.ipynb"))


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (LOOP + ROWS, 30),
        (LOOP + EQUAL, 30),
        (SHELL.replace("echo", "#") + ROWS, 30),
        (ROWS + CRASH, 30),
        ("step 1 loss 2.30\nstep 2 loss 2.29\n", 2),
    ],
    ids=["the script first", "rows like assignments", "the job first", "a crash at the end", "two rows"],
)
def test_a_log_that_shows_code_is_read(tmp_path: Path, text: str, rows: int) -> None:
    (tmp_path / "run.log").write_text(text)
    found = load(str(tmp_path / "run.log"))
    assert len(found[-1].series["loss/train"]) == rows


def test_rows_pasted_into_a_page_are_read(tmp_path: Path) -> None:
    (tmp_path / "issue.md").write_text(f"# The loss stands\n\nI run `train.py`:\n\n```\n{ROWS}```\n\nWhat can I do?\n")
    assert len(load(str(tmp_path / "issue.md"))[0].series["loss/train"]) == 30
