"""Functions of torch that are caught: what stands in for them while a recorder lives, and how they come back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sismo.recorder.events import Moment
from sismo.recorder.hook import elsewhere
from sismo.recorder.shield import Shield, log

Tell = Callable[..., None]
Caught = Callable[..., Any]
_STANDS_FOR = "_sismo_stands_for"


class Catcher:
    """Stands in for functions, and tells of moments. ``tell(moment, ...)`` is called inside the shield.

    Attributes:
        on: False once everything was put back; what somebody has wrapped meanwhile stays as long as that does, and does nothing any more.
    """

    def __init__(self, shield: Shield, tell: Tell) -> None:
        self.shield, self.tell = shield, tell
        self.on = True
        self._undo: list[Callable[[], object]] = []

    @property
    def listens(self) -> bool:
        """Whether a call that is caught now is one of the training that is recorded."""
        return self.on and self.shield.alive and not elsewhere()

    def catch(self, holder: Any, name: str, make: Callable[[Caught], Caught]) -> None:
        """Puts what ``make`` makes of a function in its place."""
        if not hasattr(holder, name):
            log.warning("this torch has no %s: what is caught there is not recorded", name)
            return
        original = getattr(holder, name)
        mine = make(original)
        vars(mine)[_STANDS_FOR] = (self, original)
        setattr(holder, name, mine)

        def undo() -> None:
            # Somebody may have wrapped ours meanwhile; taking theirs away would be worse than leaving a wrapper that does nothing.
            if getattr(holder, name) is mine:
                setattr(holder, name, _in_force(original))

        self.later(undo)

    def later(self, undo: Callable[[], object]) -> None:
        """Something that is to be undone in the end."""
        self._undo.append(undo)

    def put_back(self) -> None:
        """Undoes everything, last one first."""
        self.on = False
        while self._undo:
            self._undo.pop()()

    def run(self, moment: Moment, *arguments: Any) -> None:
        """Tells of a moment."""
        if self.listens:
            with self.shield:
                self.tell(moment, *arguments)

    def look(self, note: Callable[..., None], arguments: Sequence[Any], options: dict[str, Any]) -> None:
        """Looks at a call of torch's own helpers. Where those have changed their arguments, recording stops and the call goes on.

        ``note`` measures nothing by itself, so that it stands outside the shield, which would cost more; ``run`` goes into it.
        """
        if self.listens:
            try:
                note(*arguments, **options)
            except Exception as error:
                self.shield.fail(error)


def _in_force(function: Caught) -> Caught:
    """A function, or what stands behind it where it belongs to a recorder that was closed before the one that wrapped it."""
    while (known := getattr(function, _STANDS_FOR, None)) is not None and not known[0].on:
        function = known[1]
    return function
