"""The panels of one recorder, together: they are told of moments, given their jobs, and made anew when there is other to measure."""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from sismo.recorder import panels as _folder
from sismo.recorder.draft import Job
from sismo.recorder.events import Moment
from sismo.recorder.panel import Panel
from sismo.recorder.scene import Scene


class Board:
    """Every panel that lies in ``panels/``, or, but for ``everything``, those only that every rank is asked about."""

    def __init__(self, scene: Scene, *, everything: bool) -> None:
        self._scene = scene
        self.panels: list[Panel] = []
        for module in sorted(pkgutil.iter_modules(_folder.__path__), key=lambda module: module.name):
            panel: type[Panel] = importlib.import_module(f"{_folder.__name__}.{module.name}").PANEL
            if everything or panel.everywhere:
                self.panels.append(panel(scene))
        self._listen()

    def __iter__(self) -> Iterator[Panel]:
        return iter(self.panels)

    @property
    def jobs(self) -> list[Job]:
        """All work that may be spread over steps."""
        return [job for panel in self.panels for job in panel.jobs()]

    @property
    def later(self) -> list[str]:
        """The panels whose first measurement need not be in the first step."""
        return [panel.name for panel in self.panels if not panel.at_once]

    @property
    def first(self) -> list[str]:
        """The panels whose jobs come before all others."""
        return [panel.name for panel in self.panels if panel.first]

    def tell(self, moment: Moment, *arguments: Any) -> None:
        """Something happened in the loop."""
        for handler in self._handlers[moment]:
            handler(*arguments)

    def arm(self, chosen: Sequence[Job]) -> None:
        """Gets every panel ready for a step in which these jobs are done."""
        for panel in self.panels:
            panel.arm([job.part for job in chosen if job.panel == panel.name])

    def remake(self, panels: Collection[Panel]) -> None:
        """Makes these anew: they look at other weights, or must no longer look at modules."""
        for at, panel in enumerate(self.panels):
            if panel in panels:
                panel.arm(())
                self.panels[at] = type(panel)(self._scene)
        self._listen()

    def rest(self) -> None:
        """Lets go of all that was set up, also where a panel fails in it: this may be the very one that fell over."""
        for panel in self.panels:
            with contextlib.suppress(Exception):
                panel.arm(())

    def _listen(self) -> None:
        self._handlers = {
            moment: [getattr(panel, f"on_{moment.value}") for panel in self.panels if hasattr(panel, f"on_{moment.value}")]
            for moment in Moment
        }
