"""What carries the loss of a batch: which examples, which tokens and n-grams, and whether it was there before."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import torch
from torch import Tensor, nn

from sismo.errors import UsageError
from sismo.probes import step
from sismo.probes.init import initialised
from sismo.probes.step import LossFn
from sismo.probes.tensors import finite, mapped, tensors
from sismo.probes.untouched import untouched
from sismo.records.probing import ProbeReport, word
from sismo.records.types import Note

_MOST = 10
"""Tokens and n-grams that are named."""
_N = 3
_AGAIN = 0.9
"""Share of the examples, all in one recent batch, from which it is the batch that comes again: examples do from epoch to epoch."""
_FAR, _SPREADS = 3.0, 4.0
"""Times the median of the batch, and robust deviations of the logarithm over it, from which an example carries it: both. Losses and norms
of single examples scatter by factors, and by more the longer a model has trained."""
_SMALLEST = 1e-7
"""Share of the largest value under which single precision leaves nothing of a loss: examples that a model knows by heart have exactly 0."""
_GAP, _MOST_OF_IT, _FEW = 3.0, 0.5, 4
"""Times the next one, and share of the loss of the batch, from which an example among easy ones carries it, at most one in ``_FEW``. Where
it is over what the model had before training as well, that holds for 1 to 3 % of the batches of classifiers of clean labels, and for 98 %
and more of those in which one label was put wrong (measured: 16 examples, 100 to 1,500 steps)."""
_BESIDE = 0.5
"""Share of the largest loss of an example by which that of the batch may lie beside all of them: penalties, and what is drawn anew."""
_SHOWN = 12
"""Tokens of an example that are told."""


@dataclass(frozen=True, slots=True)
class Example:
    """One example: its own loss, the norm of its own gradient, and the recent batch that holds the very same (None for none)."""

    place: int
    loss: float
    norm: float
    seen_before: int | None


@dataclass(frozen=True, slots=True)
class Carried:
    """What carries a batch.

    Attributes:
        examples: every example, in order. tokens, ngrams: those with the largest share of the gradient at the embedding, with that share.
        repeated: the n-gram that makes up most of the batch, and its share. rows: the tokens of every example.
        untrained: the loss of this batch in the same model before training; NaN where that cannot be had.
        whole: the loss of the whole batch; NaN where it is not finite or was not looked at.
    """

    examples: tuple[Example, ...]
    tokens: tuple[tuple[int, float], ...] = ()
    ngrams: tuple[tuple[tuple[int, ...], float], ...] = ()
    repeated: tuple[tuple[int, ...], float] | None = None
    rows: tuple[tuple[int, ...], ...] = ()
    untrained: float = math.nan
    whole: float = math.nan

    @property
    def unlabelled(self) -> tuple[Example, ...]:
        """Examples without a loss of their own in a batch that has one: no label of theirs counts."""
        return tuple(one for one in self.examples if math.isfinite(self.whole) and not math.isfinite(one.loss))

    @property
    def together(self) -> bool:
        """Whether the loss compares examples with each other: that of the batch lies beside all of theirs, and beside their sum."""
        losses = [one.loss for one in self.examples if math.isfinite(one.loss)]
        if not losses or not math.isfinite(self.whole):
            return False
        bounds, margin = (*losses, sum(losses)), _BESIDE * max(map(abs, losses)) + _SMALLEST
        return not min(bounds) - margin <= self.whole <= max(bounds) + margin

    @property
    def outliers(self) -> tuple[Example, ...]:
        """Examples whose loss or gradient is far over that of the others, or not finite; none where they are not fewer than the others."""
        if self.together:
            return ()
        seen = [one for one in self.examples if one not in self.unlabelled]
        loss, norm = _bound([one.loss for one in seen]), _bound([one.norm for one in seen])
        hard = self._hard()
        far = tuple(one for one in seen if one in hard or not (one.loss <= loss and one.norm <= norm))
        return far if 2 * len(far) < len(seen) else ()

    def _hard(self) -> tuple[Example, ...]:
        """The few examples that a model gets wrong as if it had not been trained, among others that it knows."""
        ranked = sorted((one for one in self.examples if math.isfinite(one.loss)), key=lambda one: -one.loss)
        total = sum(one.loss for one in ranked)
        for count in range(1, len(ranked) // _FEW + 1):
            least, following = ranked[count - 1].loss, ranked[count].loss
            alone = least > _GAP * following >= 0.0 and sum(one.loss for one in ranked[:count]) > _MOST_OF_IT * total
            if alone and least > self.untrained:
                return tuple(ranked[:count])
        return ()

    def share(self, of: Sequence[Example]) -> float:
        """Share of the loss of the batch that some examples hold; NaN where a loss is not finite or under 0."""
        losses = [one.loss for one in self.examples]
        if not all(0.0 <= loss < math.inf for loss in losses) or not sum(losses):
            return math.nan
        return sum(one.loss for one in of) / sum(losses)

    @property
    def duplicates(self) -> tuple[Example, ...]:
        """Examples that a recent batch held as well."""
        return tuple(one for one in self.examples if one.seen_before is not None)

    def report(self) -> ProbeReport:
        """The result for a run and a reader."""
        notes: list[Note] = []
        before = Counter(one.seen_before for one in self.duplicates)
        again = max(before.values(), default=0) >= _AGAIN * len(self.examples)
        counts = {"count": len(self.duplicates), "total": len(self.examples)}
        duplicates = Note("duplicates", "{count} of {total} examples {count:was|were} in a recent batch.", counts)
        if self.unlabelled:
            said = ", ".join(str(one.place) for one in self.unlabelled[:5])
            numbers = {"count": len(self.unlabelled), "said": said}
            notes.append(Note("no-loss", "{count} {count:example has|examples have} no loss: no label of {said} counts.", numbers))
        if self.tokens:
            said = ", ".join(f"{token} ({share:.0%})" for token, share in self.tokens)
            notes.append(Note("tokens", "Tokens with the largest share of the gradient: {said}.", {"said": said}))
        if self.ngrams:
            said = ", ".join(f"{' '.join(map(str, gram))} ({share:.0%})" for gram, share in self.ngrams[:3])
            notes.append(Note("ngrams", "N-grams with the largest share of the gradient: {said}.", {"said": said}))
        if self.repeated is not None:
            gram = " ".join(map(str, self.repeated[0]))
            notes.append(
                Note(
                    "repeated",
                    "The commonest n-gram, {gram}, makes up {share:.0%} of the batch.",
                    {"gram": gram, "share": self.repeated[1]},
                )
            )
        carried, lost = self.outliers, not any(math.isfinite(one.loss) for one in self.examples)
        if self.rows:
            for one in reversed(carried[:3]):
                said = " ".join(map(str, self.rows[one.place][:_SHOWN])) + (" …" if len(self.rows[one.place]) > _SHOWN else "")
                notes.insert(0, Note("example", "Example {place} begins with the tokens {said}.", {"place": one.place, "said": said}))
        share = self.share(carried)
        if carried and math.isfinite(share):
            numbers = {"share": share, "loss": min(one.loss for one in carried), "usual": median(one.loss for one in self.examples)}
            notes.insert(
                0,
                Note(
                    "share",
                    "{share:.0%} of the loss of the batch is in there: {loss:.4g} and more, in the middle of the batch {usual:.4g}.",
                    numbers,
                ),
            )
        if carried:
            numbers = {"count": len(carried), "total": len(self.examples), "places": ", ".join(str(one.place) for one in carried[:5])}
            verdict = Note("carried", "{count} of {total} examples {count:carries|carry} the batch: {places}.", numbers)
        elif again:
            verdict = Note(
                "again", "This batch was served a few steps ago: {count} of its {total} examples were in a recent batch.", counts
            )
        elif lost:
            verdict = Note(
                "all-lost",
                "No example has a finite loss, so that none carries the batch: no label counts, or the step is lost whatever it gets. "
                "sismo probe nan says where.",
            )
        elif self.together:
            verdict = Note(
                "together",
                "The loss compares examples with each other: {whole:.4g} for the batch, {low:.4g} to {high:.4g} for one by itself. Which "
                "of them carries it cannot be told.",
                {"whole": self.whole, "low": min(one.loss for one in self.examples), "high": max(one.loss for one in self.examples)},
            )
        else:
            verdict = Note("even", "No example stands out from its batch.")
        if self.duplicates and verdict.code != "again":
            notes.append(duplicates)
        data: dict[str, object] = {"duplicates": "yes" if again else "no"}
        if carried or not (self.together or lost):
            data["batch"] = "carried" if carried else "even"
        if carried:
            data["examples"] = [one.place for one in carried]
        columns = (word("example"), word("loss"), word("gradient norm"), word("seen before"))
        rows = tuple(
            (str(one.place), f"{one.loss:.4g}", f"{one.norm:.3g}", "" if one.seen_before is None else str(one.seen_before))
            for one in self.examples
        )
        unknown = verdict.code in ("all-lost", "together")
        return ProbeReport("batch", bool(carried or again), verdict, data, columns, rows, tuple(notes), open=unknown)


def carried(model: nn.Module, batch: Any, loss_fn: LossFn, recent: Sequence[Any] = ()) -> Carried:
    """Runs every example of a batch by itself, and looks which of them, and which tokens, carry loss and gradient.

    ``recent`` are earlier batches, in which the same examples are looked for. All is left as it was. Raises ``UsageError`` for a batch
    whose tensors have no common first axis.
    """
    parts = [tensor for tensor in tensors(batch) if tensor.ndim]
    size = parts[0].shape[0] if parts else 0
    if not size:
        raise UsageError("the batch has no example in it")
    singles = [
        mapped(batch, lambda tensor, at=at: tensor[at : at + 1] if tensor.ndim and tensor.shape[0] == size else tensor)
        for at in range(size)
    ]
    known = [{_key(other, at) for at in range(len(_main(other)))} for other in recent]
    with untouched(model, None, loss_fn) as loan:
        examples: list[Example] = []
        for at, single in enumerate(singles):
            loan.rewind()  # what is drawn is the same for each
            model.eval()  # batch norm over a single example says nothing about the batch
            loss = step.loss_of(model, single, loss_fn)
            if finite(loss) and loss.requires_grad:
                step.backward(loss)
            before = next((number for number, keys in enumerate(known) if _key(batch, at) in keys), None)
            examples.append(Example(at, float(loss.detach()), step.grad_norm(model) if finite(loss) else math.nan, before))
        loan.rewind()
        model.eval()
        whole = float(step.loss_of(model, batch, loss_fn).detach())
        loan.rewind()
        model.eval()
        shares = _token_shares(model, batch, loss_fn)
        loan.rewind()
        untrained = _untrained(model, batch, loss_fn)
    if shares is None:
        return Carried(tuple(examples), untrained=untrained, whole=whole)
    tokens, weight = shares
    rows = tuple(map(tuple, tokens.tolist())) if len(tokens) == size else ()
    largest = () if weight is None else _largest(tokens, weight, 1)
    grams = () if weight is None else _largest(tokens, weight, _N)
    return Carried(tuple(examples), largest, grams, _commonest(tokens), rows, untrained, whole)


def _untrained(model: nn.Module, batch: Any, loss_fn: LossFn) -> float:
    """The loss of a batch in the same model initialised anew; NaN where most of it does not know how."""
    if initialised(model) < _MOST_OF_IT:
        return math.nan
    model.eval()
    return float(step.loss_of(model, batch, loss_fn).detach())


def _token_shares(model: nn.Module, batch: Any, loss_fn: LossFn) -> tuple[Tensor, Tensor | None] | None:
    """Tokens as the first embedding gets them, and the share of each place in the gradient there; None without an embedding.

    A gradient that is lost, or nothing, has no shares.
    """
    embedding = next((module for module in model.modules() if isinstance(module, nn.Embedding)), None)
    if embedding is None:
        return None
    caught: list[tuple[Tensor, Tensor]] = []

    def keep(module: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> None:
        if output.requires_grad and not caught:
            output.retain_grad()
            caught.append((inputs[0], output))

    handle = embedding.register_forward_hook(keep)
    try:
        loss = step.loss_of(model, batch, loss_fn)
    finally:
        handle.remove()
    if not caught or caught[0][0].ndim != 2:
        return None
    tokens, output = caught[0]
    if not finite(loss):
        return tokens.cpu(), None
    step.backward(loss)
    norms = torch.zeros(tokens.shape) if output.grad is None else output.grad.float().norm(dim=-1).cpu()
    whole = float(norms.sum())
    return tokens.cpu(), norms / whole if math.isfinite(whole) and whole > 0.0 else None


def _largest(tokens: Tensor, weight: Tensor, n: int) -> tuple[Any, ...]:
    total: dict[Any, float] = defaultdict(float)
    for row, shares in zip(tokens.tolist(), weight.tolist(), strict=True):
        for at in range(len(row) - n + 1):
            total[row[at] if n == 1 else tuple(row[at : at + n])] += sum(shares[at : at + n]) / n
    return tuple(sorted(total.items(), key=lambda item: -item[1])[:_MOST])


def _commonest(tokens: Tensor) -> tuple[tuple[int, ...], float] | None:
    grams = Counter(tuple(row[at : at + _N]) for row in tokens.tolist() for at in range(len(row) - _N + 1))
    if not grams:
        return None
    gram, count = grams.most_common(1)[0]
    return gram, count / grams.total()


def _bound(values: Sequence[float]) -> float:
    """What is not far over the others; NaN where none of them is finite."""
    sound = [value for value in values if math.isfinite(value)]
    centre = median(sound) if sound else math.nan
    if min(sound, default=-1.0) < 0.0:
        return centre + max(_FAR * abs(centre), _SPREADS * _deviation(sound))
    least = _SMALLEST * max(sound)
    if centre <= least:
        return math.inf if max(sound) > 0.0 else 0.0  # most of them are known by heart: the others have no common size
    return centre * max(_FAR, math.exp(_SPREADS * _deviation([math.log(max(value, least)) for value in sound])))


def _deviation(values: Sequence[float]) -> float:
    """The standard deviation of normal noise, by the median of absolute deviations; NaN of nothing."""
    centre = median(values or [math.nan])
    return 1.4826 * median([abs(value - centre) for value in values] or [math.nan])


def _main(batch: Any) -> Tensor:
    """The tensor that tells examples apart: the first one."""
    return next(tensor for tensor in tensors(batch) if tensor.ndim)


def _key(batch: Any, at: int) -> bytes:
    return _main(batch)[at].detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
