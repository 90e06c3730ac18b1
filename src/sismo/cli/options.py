"""Options that several commands share."""

from __future__ import annotations

import math
from typing import Any

import click


class Finite(click.FloatRange):
    """A range that NaN and infinity do not lie in, although they pass its comparisons."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = super().convert(value, param, ctx)
        return number if math.isfinite(number) else self.fail(f"{value} is not a finite number.", param, ctx)


lang = click.option("--lang", type=click.Choice(["en", "es"]), help="Language of the report.  [default: that of the environment]")

as_json = click.option("--json", "as_json", is_flag=True, help="One JSON document instead of text.")

jobs = click.option("--jobs", "-j", type=click.IntRange(min=1), metavar="N", help="Processes at once.  [default: one a core]")

beside = click.option("--peers/--no-peers", "beside", default=True, help="Whether other tools are measured too.")

write = click.option("--write", is_flag=True, help="Write the tables to the docs.")

ray = click.option("--ray", metavar="ADDRESS", help="Work on this Ray cluster; 'local' starts one of --jobs workers here.")

root = click.option("--root", default="experiments", metavar="FOLDER", help="Where the experiments lie.  [default: experiments]")
