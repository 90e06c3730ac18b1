"""What detectors look at: the series of a run, with the statistics that several of them share worked out once.

A view is filled whole from a run (``View.of``) or row by row while a run is being recorded (``update``). Both ways lead to the same
observations: the statistics take their input in chunks of any size, and a row is a chunk of one.
"""

from __future__ import annotations
