"""``sismo probe``: an experiment that proves what a log only suggests."""

from __future__ import annotations

import pkgutil

import click

from sismo.cli.options import as_json, lang
from sismo.probes import kinds

_KINDS = sorted(module.name for module in pkgutil.iter_modules(kinds.__path__))


@click.command(
    epilog="""\b
Examples:
  sismo probe nan --entry train:build --run runs/a
  sismo probe nan --entry train:build --checkpoint ckpt.pt --batch b.pt
  sismo probe causal --entry train:build --batch tokens.pt
  sismo probe leakage --entry train:build

\b
Exit codes:
  0  nothing wrong was found
  1  something was found; with --run it is in the run as evidence
  2  it could not be done"""
)
@click.argument("kind", type=click.Choice(_KINDS))
@click.option(
    "--entry", required=True, metavar="PKG.MODULE:BUILD", help="A function that returns model and loss function, and more if asked."
)
@click.option("--run", "run", metavar="RUN", help="A recorded run: takes checkpoint and batch from it, writes the result into it.")
@click.option("--checkpoint", metavar="FILE", help="State to start from.  [default: the run's last finite one before the step]")
@click.option("--step", type=click.IntRange(min=0), metavar="N", help="The suspected step.  [default: where the trouble began]")
@click.option("--batch", metavar="FILE", help="The batch to try.  [default: the one that the run kept]")
@as_json
@lang
@click.option("--verbose", "-v", is_flag=True, help="Everything that was looked at.")
def COMMAND(  # noqa: N802 - the name by which commands are found
    kind: str,
    entry: str,
    run: str | None,
    checkpoint: str | None,
    step: int | None,
    batch: str | None,
    as_json: bool,
    lang: str | None,
    verbose: bool,
) -> int:
    """Prove a cause by an experiment.

    nan: where the first non-finite number comes from. replay: data, state, precision, learning rate, hardware or structure. causal:
    whether a later token moves an earlier logit. leakage: what training and validation data share. init, flow, batch: initialisation,
    gradients and updates, what carries a batch's loss.
    """
    import importlib
    import sys
    from contextlib import redirect_stdout
    from dataclasses import replace

    from sismo import __version__
    from sismo.cli.console import emit, page
    from sismo.errors import EXIT_CLEAN, EXIT_FINDINGS, MissingExtra
    from sismo.judge import first_alarm
    from sismo.records.probing import add_event
    from sismo.report.probe import render, render_json

    try:
        from sismo.probes.case import case

        probe = importlib.import_module(f"sismo.probes.kinds.{kind}")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise MissingExtra("a probe", "torch") from error
    with redirect_stdout(sys.stderr):  # what the user's own code prints is no part of the answer
        suspected = case(entry, run, checkpoint, step, batch)
        if suspected.run is not None and suspected.undated:
            suspected = replace(suspected, given_step=first_alarm(suspected.run))
        found = probe.run(suspected)
    if run is not None:
        add_event(run, found.event(suspected.step))
    sheet = page(lang or ("en" if as_json else None), verbose=verbose)
    emit(render_json(found, __version__, sheet) if as_json else render(found, sheet))
    return EXIT_FINDINGS if found.found else EXIT_CLEAN
