"""Lines that come again and again in the same order, a heading and its row, a bar and its dictionary: read together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from sismo.sources.numbers import floats
from sismo.sources.template import Template

LONGEST = 12
"""Lines of a stanza."""


class Stanza:
    """Some templates in the order in which their lines come; ``pattern`` fits all of the lines once."""

    def __init__(self, templates: Sequence[Template]) -> None:
        self.templates = templates
        self.pattern = re.compile("".join(template.pattern.pattern for template in templates))
        self._commas = any(template.commas for template in templates)

    def tables(self, found: Sequence[re.Match[str]]) -> list[NDArray[np.float64]]:
        """What the lines said of so many times that the stanza came: a table for each template, a line of it each time."""
        texts = list(chain.from_iterable(one.groups() for one in found))
        # The patterns have seen to it that every comma stands before three digits.
        values = floats([text.replace(",", "") for text in texts] if self._commas else texts).reshape(len(found), -1)
        ends = np.cumsum([len(template.keys) for template in self.templates])
        return [template.scaled(table) for template, table in zip(self.templates, np.split(values, ends[:-1], axis=1), strict=True)]


def stanza_of(lately: Iterable[Template | None]) -> tuple[Template, ...]:
    """The templates of the lines that came twice in the same order just now; none where there are no such lines.

    ``lately`` are the templates of the last lines, None for a line that fitted none.
    """
    seen = [*lately]
    length = next((back for back in range(1, len(seen) // 2 + 1) if seen[-1 - back] is seen[-1]), 1)
    once = seen[-length:]
    if length == 1 or seen[-2 * length : -length] != once:
        return ()
    templates = tuple(template for template in once if template is not None)
    return templates if len(templates) == length and _may_be_read_together(templates) else ()


def _may_be_read_together(templates: Sequence[Template]) -> bool:
    """Whether each line can be read without a look at what those before it did."""
    opened = False
    for at, template in enumerate(templates):
        if template.markers or (template.joins and (not opened or template in templates[:at])):
            return False
        if not template.joins:
            opened = template.stays_open and template.settle is None
    # What one settles may be about the row of the next: they are read in turn, and none of them makes its row before the others.
    turns = [template for template in templates if template.settle is not None]
    return all(template.marks for template in turns) or len(turns) == len(templates)
