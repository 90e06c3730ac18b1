"""The process: ``python -m sismo`` and the command ``sismo``. It imports nothing before it can be interrupted."""

from __future__ import annotations

import gc
import signal
import sys
from typing import NoReturn

INTERRUPTED = 130
"""What a shell expects of a program that was ended with Ctrl-C."""

_OBJECTS = 50_000
"""New objects before the collector looks for cycles. Importing makes many objects and no garbage, and a run ends soon after."""


def main() -> NoReturn:
    """Runs the command line and ends the process."""
    try:
        gc.set_threshold(_OBJECTS)
        # A process that is asked to end tidies up as one that is interrupted does: half-made folders go, a screen is given back.
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
        from sismo.cli.main import run

        code = run()
    except KeyboardInterrupt:  # in an import, or on the way out
        from sismo.cli.console import complain

        complain("interrupted")
        code = INTERRUPTED
    # The interpreter looks for cycles on its way out, among everything that was imported: a tenth of a short run.
    gc.freeze()
    sys.exit(code)


if __name__ == "__main__":
    main()
