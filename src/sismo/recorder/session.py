"""The recorder: two lines round a training loop."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from torch import nn

from sismo.errors import RunFormatError, SismoError, TrainingStopped, UsageError
from sismo.probes.step import LossFn
from sismo.recorder import anatomy, clock, manifest
from sismo.recorder.board import Board
from sismo.recorder.cadence import Cadence
from sismo.recorder.checkpoints import Checkpoints, load
from sismo.recorder.draft import Draft
from sismo.recorder.events import Moment
from sismo.recorder.hooks import Hooks
from sismo.recorder.journal import Journal
from sismo.recorder.mirror import Mirror
from sismo.recorder.notices import Notices, say_what_is_off
from sismo.recorder.panel import Panel
from sismo.recorder.ranks import Ranks
from sismo.recorder.replicas import Replicas
from sismo.recorder.scene import scene
from sismo.recorder.shield import Shield
from sismo.recorder.witness import Witness


class Recorder:
    """Records a training run into a folder that ``sismo diagnose`` reads.

    ```python
    with Recorder(model, optimizer, "runs/a", config=cfg) as rec:
        for batch in loader:
            ...
            rec.step(loss)  # once per optimizer step; everything else is found by itself
    ```

    Training goes on exactly as without it: the same numbers, bit for bit, whatever happens in here.

    Arguments:
        model: the model, wrapped or not. optimizers: one, or several in a list or a mapping. path: the run folder; a run that is
            there is continued, and the seam is an event.
        config: the settings of the run: a mapping, a dataclass or a namespace. They go into the manifest.
        budget: the share of the step time that recording may take; None measures everything at every step.
        every: without a budget, the steps between two measurements. They hang on the number of the step alone: the same training gives
            the same record, whatever else the machine does.
        save_every: steps between checkpoints; none are written without it.
        keep: how many are kept that ``save_every`` healthy steps followed, besides the last finite one that trouble followed sooner.
        scheduler, scaler, loader: what belongs into a checkpoint beside model and optimizers.
        first_step: the number of the first step; a continued run goes on after its last row without it.
        mirrors: places that get every row as well, see ``integrations``.
        checksum_every: steps within which all weights of the replicas are compared once, with several ranks.
        loss_fn: ``loss_fn(model, batch)``, with which the first step that is not finite is taken apart in the live process; needs
            ``rec.batches(loader)``. Each step then waits for its gradients.
        stop_at_nan: whether ``step`` raises ``TrainingStopped`` after that, with what was found.

    Raises ``UsageError`` for a model without parameters, an optimizer that holds none of them, a folder that another process writes to or
    whose run cannot be read, and numbers that make no sense.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizers: object,
        path: str | Path,
        *,
        config: object = None,
        budget: float | None = 0.01,
        every: int = 1,
        save_every: int | None = None,
        keep: int = 3,
        scheduler: Any = None,
        scaler: Any = None,
        loader: Any = None,
        first_step: int | None = None,
        mirrors: Sequence[Mirror] = (),
        checksum_every: int = 100,
        loss_fn: LossFn | None = None,
        stop_at_nan: bool = False,
    ) -> None:
        if budget is not None and not 0 < budget < 1:
            raise UsageError(f"budget is a share of the step time between 0 and 1, or None for everything; not {budget}")
        if every < 1:
            raise UsageError(f"every is a number of steps, 1 or more; not {every}")
        if save_every is not None and save_every < 1:
            raise UsageError(f"save_every is a number of steps, 1 or more; not {save_every}")
        if keep < 1:
            raise UsageError(f"keep is a number of checkpoints, 1 or more; not {keep}")
        if first_step is not None and first_step < 0:
            raise UsageError(f"first_step is the number of a step, 0 or more; not {first_step}")
        self.path = Path(path)
        if self.path.exists() and not self.path.is_dir():
            raise UsageError(f"{self.path} is a file: a run is a folder, give the path of one that is there or not yet")
        self._closed = False
        self._stop_at_nan = stop_at_nan
        self._shield = Shield(self._fell)
        self._parts = {"scheduler": scheduler, "scaler": scaler, "loader": loader}
        self._given = model
        try:
            self._scene = scene(model, optimizers, self._shield)
            self._hooks = Hooks(self._scene, self._shield, self._tell)
            self._open(config, budget, every, save_every, keep, first_step, mirrors, checksum_every, loss_fn)
        except RunFormatError as error:
            self._put_away()
            raise UsageError(f"the run in {self.path} cannot be continued: {error}; give another folder, or move that one away") from error
        except SismoError:
            self._put_away()
            raise
        except Exception as error:
            self._shield.fail(error)

    def _open(
        self,
        config: object,
        budget: float | None,
        every: int,
        save_every: int | None,
        keep: int,
        first_step: int | None,
        mirrors: Sequence[Mirror],
        checksum_every: int,
        loss_fn: LossFn | None,
    ) -> None:
        ranks = Ranks(str(self.path), self._scene.likeness)
        across = ranks.on and self._scene.sharded
        self._board = Board(self._scene, everything=across or ranks.rank == 0)
        self._cadence = Cadence(budget, self._board.jobs, every=every, in_step=across, later=self._board.later)
        header = manifest.header(self._scene, config, save_every=save_every, scheduler=self._parts["scheduler"])
        self._ranks = ranks
        self._replicas = Replicas(self._scene.weights, checksum_every if ranks.on and not across else 0)
        self._witness = Witness(self._scene, self._shield, self.path, loss_fn if ranks.world == 1 else None, self._happened)
        self._journal = Journal(
            self.path, header, ranks, self._replicas, self._board.panels, mirrors, zooms=not across, trouble=self._witness.save
        )
        self._step = self._journal.next_step if first_step is None else first_step
        self._checkpoints = None
        if save_every is not None and ranks.rank == 0:
            self._checkpoints = Checkpoints(self._scene, self.path, every=save_every, keep=keep, parts=self._parts)
        self._notices = Notices()
        self._looked = self._was_full = False
        self._hooks.hang()
        with self._shield:
            self._arm(full=False)
        self._began = clock.seconds()
        self._shield.elapsed()
        self._process = os.getpid()
        atexit.register(self._exit)

    @property
    def model(self) -> nn.Module:
        """The model without the wrappers of DDP and ``torch.compile``."""
        return self._scene.root if "_scene" in self.__dict__ else self._given

    @property
    def recording(self) -> bool:
        """Whether rows are still written."""
        return self._shield.alive and not self._closed

    def step(
        self,
        loss: object,
        *,
        val: object = None,
        classes: Mapping[Any, object] | None = None,
        terms: Mapping[str, object] | None = None,
        ids: object = None,
        step: int | None = None,
    ) -> None:
        """An optimizer step is over.

        Arguments:
            loss: the training loss, a tensor or a number. None where the loop has none at hand: what backward was called on since the
                last step is added up.
            val: the validation loss, where there was an evaluation; a mapping for several sets.
            classes: loss of each class or domain. terms: the terms that the loss is the sum of.
            ids: what tells the samples of the batch, in a list or a tensor; the last ones are written down when something goes wrong.
            step: the number of the step, where the loop has its own.
        """
        if not self.recording:
            return
        with self._shield:
            more: dict[str, object] = {"loss_class": classes, "loss_term": terms}
            more["loss_val"] = val
            self._scene.draft.validated |= val is not None
            self._close_step(loss, more, ids, self._step if step is None else int(step))
        if self._stop_at_nan and self._witness.verdict:
            raise TrainingStopped(self._witness.verdict)

    def batches(self, loader: Iterable[Any]) -> Iterator[Any]:
        """The batches of a loader, as they are. The last ones are held, and written into the run when something goes wrong."""
        return self._witness.batches(loader, lambda: self._step) if self.recording else iter(loader)

    def evaluation(self, val: object) -> None:
        """A validation loss that belongs to the step before."""
        if self.recording:
            with self._shield:
                self._scene.draft.validated = True
                self._journal.late(self._step - 1, val)

    def checkpoint(self, path: str | Path) -> None:
        """Notes that the loop wrote a checkpoint."""
        if self.recording:
            with self._shield:
                self._journal.happened(max(self._step - 1, 0), "checkpoint", {"path": str(path)})

    def load(self, path: str | Path) -> int:
        """Puts model, optimizers, random numbers and the rest back from a checkpoint of ``save_every``; returns the next step's number."""
        self._step = load(path, self._scene, self._parts) + 1
        return self._step

    def close(self, error: BaseException | None = None) -> None:
        """Ends the run; an error is what ended it. Closing twice does nothing."""
        if self._closed:
            return
        atexit.unregister(self._exit)
        if isinstance(error, GeneratorExit) or (isinstance(error, SystemExit) and not error.code):
            error = None
        if self._shield.alive:
            with self._shield:
                self._journal.finish(self._cadence.summary(), error, self._step)
        self._closed = True
        self._put_away()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close(error)

    def _exit(self) -> None:
        """The process ends and nobody has closed the run. What a child of this process does is not its business."""
        if os.getpid() == self._process:
            # A prompt keeps the last error for ever, a script dies of it.
            self.close(None if hasattr(sys, "ps1") else getattr(sys, "last_value", None))

    def _tell(self, moment: Moment, *arguments: Any) -> None:
        self._board.tell(moment, *arguments)
        if moment is Moment.BEFORE_UPDATE:
            self._witness.before_update(self._step)

    def _happened(self, step: int, kind: str, data: dict[str, object]) -> None:
        self._journal.happened(step, kind, data)

    def _close_step(self, loss: object, more: Mapping[str, object], ids: object, step: int) -> None:
        self._tell(Moment.STEP, loss, more)
        self._witness.closed(step, loss)
        draft = self._scene.draft
        self._scene.draft = Draft()
        if self._shield.autocast is not None:
            self._journal.computes_in(manifest.DTYPES.get(self._shield.autocast, ""))
        self._journal.send(step, draft, ids, self._replicas.checksum(step))
        self._step = step + 1
        self._save(step)
        self._notices.step(acted=self._hooks.acted)
        used = any(taps.used for taps in self._scene.taps)
        self._hooks.new_step()
        if not self._looked:
            self._looked = True
            self._look_for_compiled_parts()
            say_what_is_off(self._scene, seen=used or self._hooks.tap_at_call)
        now = clock.seconds()
        self._cadence.account(now - self._began, self._shield.elapsed(), draft.spent, free=self._was_full)
        self._began = now
        if self._scene.changed():
            self._follow()
        # A window of full detail is not taken off the budget; the first step is, as every run has one.
        self._was_full = self._journal.watch.full(self._step)
        self._arm(full=self._was_full)

    def _follow(self) -> None:
        """Other weights are trained from now on."""
        self._remake([panel for panel in self._board if panel.of_weights])
        self._replicas.follow(self._scene.weights)
        self._ranks.model = self._scene.likeness
        self._journal.describe(manifest.trained(self._scene))

    def _look_for_compiled_parts(self) -> None:
        """What was compiled after the recorder was made is compiled anew whenever a hook comes or goes: there must be none."""
        if self._scene.compiled or not anatomy.is_compiled(self._scene.model):
            return
        self._scene.compiled = True
        self._hooks.let_go_of_modules()
        self._remake([panel for panel in self._board if panel.of_modules])
        self._journal.describe(manifest.off(self._scene))

    def _remake(self, panels: Collection[Panel]) -> None:
        self._board.remake(panels)
        self._cadence.follow(self._board.jobs)

    def _arm(self, *, full: bool) -> None:
        self._board.arm(self._cadence.everything() if full else self._cadence.plan(self._board.first))
        if not self._hooks.tap_at_call:
            for taps in self._scene.taps:
                if not (taps.on_modules and self._hooks.unseen):
                    taps.hang()

    def _save(self, step: int) -> None:
        if self._checkpoints is None:
            return
        began = clock.seconds()
        written = self._checkpoints.step(step, self._journal.watch.healthy_for)
        if written is not None:
            self._journal.happened(step, "checkpoint", {"path": str(written.relative_to(self.path))})
            # Neither training nor recording.
            took = clock.seconds() - began
            self._began += took
            self._shield.leave_out(took)

    def _fell(self, error: BaseException) -> None:
        self._put_away()
        # It may have fallen over before there was a journal.
        if journal := self.__dict__.get("_journal"):
            journal.broke(error, self._step)

    def _put_away(self) -> None:
        if board := self.__dict__.get("_board"):
            board.rest()
        if hooks := self.__dict__.get("_hooks"):
            hooks.take_down()
