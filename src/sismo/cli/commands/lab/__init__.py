"""``sismo lab``: training runs that fail in known ways. One subcommand per file, as in the folder above."""

from __future__ import annotations

import sys
from typing import Any

import click

from sismo.cli.group import group_of


class _Lab(group_of(sys.modules[__name__])):
    def invoke(self, ctx: click.Context) -> Any:
        """Runs a command; training is what needs torch, and help does not."""
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            from sismo.errors import MissingExtra

            raise MissingExtra("the lab", "torch") from error


@click.group(
    cls=_Lab,
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
