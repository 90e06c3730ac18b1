"""The entry point: finds the subcommands, and turns every way to end into an exit code."""

from __future__ import annotations

import errno
import sys

import click

from sismo import __version__
from sismo.cli import commands
from sismo.cli.console import complain, flush
from sismo.cli.group import group_of
from sismo.errors import EXIT_FAILED, SismoError

_NO_ROOM = (errno.ENOSPC, errno.EIO, errno.EBADF)
"""What writing to a full disk or a closed stream says: the fault of where the output goes, and no bug."""


@click.group(
    cls=group_of(commands),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    epilog="""\b
Examples:
  sismo diagnose trainer_state.json
  sismo diagnose train.log --json | jq '.runs[].causes[0].id'
  sismo explain missing-warmup

\b
Exit codes of diagnose:
  0  read, and nothing at the --fail-on level or worse; also when
     there was too little to judge
  1  read, and something was found
  2  something could not be read""",
)
@click.version_option(__version__, prog_name="sismo", message="%(prog)s %(version)s")
def cli() -> None:
    """A seismograph for training runs.

    Reads the log that you already have, names what broke the run with its evidence, since when, and says what to do first.
    """


def run(arguments: list[str] | None = None) -> int:
    """Runs the command line on arguments (the process's own when None). Returns the exit code; only an interruption is raised."""
    code = _run(arguments)
    flush()
    return code


def _run(arguments: list[str] | None) -> int:
    try:
        result = cli.main(arguments, prog_name="sismo", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.ClickException as error:
        error.show()
        return EXIT_FAILED
    except click.Abort:  # what click makes of Ctrl-C
        raise KeyboardInterrupt from None
    except SismoError as error:
        complain(str(error))
        return error.exit_code
    except Exception as error:  # a bug of ours must not end with the exit code that means "something found"
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            complain(error.strerror or str(error))
            return EXIT_FAILED
        sys.excepthook(type(error), error, error.__traceback__)
        complain("this is a bug in sismo; please report it with the lines above")
        return EXIT_FAILED
