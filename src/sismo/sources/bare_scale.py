"""A column called just ``scale``: the loss scale where its values say so."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sismo.sources.base import Column
from sismo.sources.keys import tokens

_LEAST = 256.0
"""A scaler's start is 2^16 or more, and its level seldom under this: powers of two below it may be anything, a batch size for one."""


def bare_scale(columns: Mapping[str, Column]) -> str:
    """The key of a column called ``scale`` whose values are all powers of two, 256 or more among them; empty where there is none."""
    for key, column in columns.items():
        if [word for word in tokens(key) if word != "train"] != ["scale"]:
            continue
        values = column.values[column.present]
        halves = np.frexp(values)[0]  # NaN and infinity are no halves
        if values.size and bool(np.all(halves == 0.5)) and float(values.max()) >= _LEAST:
            return key
    return ""
