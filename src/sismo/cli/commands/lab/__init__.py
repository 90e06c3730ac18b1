"""``sismo lab``: training runs that fail in known ways. One subcommand per file, as in the folder above."""

from __future__ import annotations

import importlib.util
import sys

import click

from sismo.cli.group import group_of


@click.group(
    cls=group_of(sys.modules[__name__]),
    epilog="""\b
Examples:
  sismo lab run                   four runs: a healthy one, three that fail
  sismo lab answer 01 bad-init --because "activations huge at step 0"
  sismo lab reveal                the truth, and the score
  sismo lab exam --auto           sismo sits the exam itself
  sismo lab faults                every fault that can be trained""",
)
def COMMAND() -> None:  # noqa: N802 - the name by which commands are found
    """Train runs that fail in known ways, and tell them apart.

    The exam is three sealed runs, each with exactly one thing wrong: look at their pages, write your diagnoses, then reveal.
    """
    from sismo.errors import MissingExtra

    if importlib.util.find_spec("torch") is None:
        raise MissingExtra("the lab", "torch")
