"""PyTorch's anomaly detection: ``Function 'SqrtBackward0' returned nan values in its 0th output.`` says where a NaN came from."""

from __future__ import annotations

import re

from sismo.sources.line import Line, TextLog

_FOUND = re.compile(r"\bFunction '(\w+?)Backward\d*' returned nan values in its \d+th output")
_OPS = (
    ("log", re.compile(r"Log(?:1p|2|10)?|BinaryCrossEntropy|CtcLoss", re.IGNORECASE)),
    ("div", re.compile(r"Div", re.IGNORECASE)),
    ("backward", re.compile(r"R?Sqrt|Pow\w*|\w*Norm|Cdist|Std\w*|Acos|Asin", re.IGNORECASE)),
)
"""What a probe calls the operations that a cause is known for; of ``pow`` and its kin the derivative is what is lost."""


def read(line: str, log: TextLog) -> bool:
    found = _FOUND.search(line)
    if found is None:
        return False
    log.mark("warning", tag="anomaly", line=line.strip()[:200])
    op = next((name for name, pattern in _OPS if pattern.fullmatch(found[1])), "")
    log.mark("probe", origin="found", where=f"{found[1]}Backward", **({"op": op} if op else {}))
    return True


LINE = Line(
    "anomaly",
    "RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output.",
    ("returned nan values",),
    4,
    read,
    marker=True,
)
