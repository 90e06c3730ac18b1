"""Warnings that are evidence, each with a tag: tokenization mismatches, invalid values, device asserts, the order of the scheduler."""

from __future__ import annotations

import re

from sismo.sources.line import Line, TextLog

_PATTERNS = {
    "tokenization-mismatch": r"tokeni[sz]ation mismatch",
    "invalid-value": r"invalid value encountered",
    "divide-by-zero": r"divide by zero|division by zero",
    "overflow-encountered": r"overflow encountered in",
    "device-assert": r"CUDA error: device-side assert triggered|Assertion [`'\"].*[`'\"] failed|indexSelectLargeIndex"
    r"|IndexError: Target \S+ is out of bounds"
    r"|index out of range in self|check failed: \(?label(?:_value)?\b\W{0,3}[<>]",
    "scheduler-order": r"lr_scheduler\.step\(\)[`'\"]? before [`'\"]?optimizer\.step\(\)",
    "no-labels": r"no labels found|no valid labels|all labels (?:are|were) (?:masked|ignored|-100)|0 (?:images|instances) with labels"
    r"|could not find response key|instance will be ignored in loss",
    "ctc-length": r"samples (?:in this mini-batch )?got nan grad\b.*\bCTC|not enough time for target transition sequence"
    r"|ctc\S*\) warning: loss \(=\S+\) is not correct",
    "nonfinite-loss": r"(?:loss|gradients?|grad norm)\b.{0,30}\b(?:is|are|became|becomes|contains?) (?:nan|inf|non-?finite|infinite)"
    r"|received (?:an? )?(?:nan|inf)\w* loss|diverged with loss = nan|nan loss during training|loss exploded to (?:nan|inf)\b"
    r"|non-?finite (?:loss|gradients?)|found (?:inf|nan)(?!\S{0,12} in 0\b|, decreased)",
    "nan-in-data": r"input contains (?:nan|infinity)"
    r"|nan (?:values? )?(?:found )?in (?:the )?(?:input|data|features|dataset)",
    "batch-of-one": r"expected more than 1 value per channel when training",
    "unused-parameters": r"find_unused_parameters=True|None of the inputs have requires_grad=True",
    "truncated-sequences": r"sequence length is longer than the specified maximum",
}
_TAGS = tuple((tag, re.compile(pattern, re.IGNORECASE)) for tag, pattern in _PATTERNS.items())


_COMMENT = re.compile(r"^\s*(?:#|//|\"\"\"|>>>|\.\.\. )")
_SUPPOSED = re.compile(r"\b(?:if|when|whenever|unless|until|whether|would|may|might|could|avoid|prevent|in case)\b[^.;]*$", re.IGNORECASE)
"""Before the words of a warning: somebody speaks of it, and it did not happen."""


def read(line: str, log: TextLog) -> bool:
    for tag, pattern in _TAGS:
        found = pattern.search(line)
        if found:
            if _COMMENT.match(line) or _SUPPOSED.search(line, max(0, found.start() - 80), found.start()):
                return False
            data: dict[str, object] = {"tag": tag, "line": line[max(0, found.start() - 100) : found.end() + 100].strip()}
            if log.bar is not None:
                data["at"] = log.bar[0]
            log.mark("warning", **data)
            return True
    return False


LINE = Line("warning", "WARNING: tokenization mismatch: 47 vs. 48. (ignored)",
            ("warning", "mismatch", "assert", "invalid value", "by zero", "out of bounds", "out of range", "scheduler.step",
            "label", "finite", "nan",
             "is inf", "encountered", "per channel", "response key", "longer than", "not enough time"), 5, read, marker=True)  # fmt: skip
