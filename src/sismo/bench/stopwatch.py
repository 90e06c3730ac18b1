"""Runs one command and prints its seconds, peak kilobytes, seconds of CPU and exit code. A script of its own, started by ``speed``.

A child counts the memory of the process that it was forked from into its own peak, so whoever measures must be small: this
imports nothing but the basics, while ``speed`` holds numpy and a million rows.
"""

from __future__ import annotations

import os
import sys
import time


def run(command: list[str]) -> tuple[float, int, float, int]:
    """Seconds, peak resident set as the system counts it, seconds of CPU and exit code of a command whose output is thrown away."""
    began = time.perf_counter()
    sink = [(os.POSIX_SPAWN_OPEN, target, os.devnull, os.O_WRONLY, 0) for target in (1, 2)]
    pid = os.posix_spawnp(command[0], command, os.environ, file_actions=sink)
    _, status, usage = os.wait4(pid, 0)
    return time.perf_counter() - began, usage.ru_maxrss, usage.ru_utime + usage.ru_stime, os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    print(*run(sys.argv[1:]))
