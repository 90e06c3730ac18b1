"""Which key of a log becomes which channel, once all its keys are known.

Precedence when several keys claim ``loss/train`` (or ``loss/val``): what ``--map`` says; keys with many more rows than the others; a total
before a key that says train, before a bare ``loss``, before a mean; the language-model part last. Losers become terms where they
name one, else ``metric/KEY``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sismo.errors import UsageError
from sismo.records.channels import FAMILIES, is_channel
from sismo.records.objective import objective
from sismo.records.types import Note
from sismo.sources.keys import PERPLEXITY, SMOOTHED, Meaning, meaning, tokens

ENOUGH_ROWS = 0.6
"""A claimant needs this share of the rows of the fullest one: an epoch mean doesn't push out the per-step loss."""


@dataclass(slots=True)
class Naming:
    """The outcome.

    Attributes:
        channels: key to channel. sums: channel to the keys whose sum it is. aliases: channel to the key that it repeats.
        logs: channel to the key of which it is the logarithm.
        step_key: the column that ``--map step=`` names, else empty. objective: ``rl`` or ``gan`` where the keys show it.
    """

    channels: dict[str, str] = field(default_factory=dict)
    sums: dict[str, list[str]] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    logs: dict[str, str] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    step_key: str = ""
    objective: str | None = None


def check_mapping(mapping: Mapping[str, str], columns: Iterable[str]) -> None:
    """Raises ``UsageError``, naming what comes close, for a channel or a column that does not exist."""
    known = list(dict.fromkeys(columns))
    for channel, column in mapping.items():
        if channel != "step" and not is_channel(channel):
            raise UsageError(
                f"--map: {channel!r} is no channel{_close(channel, ['step', 'loss/train', 'loss/val', 'grad_norm/pre', *FAMILIES])}"
            )
        if column not in known:
            raise UsageError(f"--map: the log has no column {column!r}{_close(column, known)}")


def _close(word: str, choices: Sequence[str]) -> str:
    import difflib

    found = difflib.get_close_matches(word, choices, 3, 0.4)
    return f"; did you mean {', '.join(found)}?" if found else f"; it has {', '.join(choices[:8])}" if choices else ""


def name_channels(counts: Mapping[str, int], mapping: Mapping[str, str]) -> Naming:
    """Names the channels of a table.

    Arguments:
        counts: every key and its number of values. mapping: channel to key, from the user; keys that this table lacks are ignored.
    """
    naming = Naming()
    taken: set[str] = set()
    meanings = {key: meaning(key) for key, count in counts.items() if count}
    for channel, key in mapping.items():
        if key not in counts:
            continue
        if channel == "step":
            naming.step_key = key
        else:
            naming.channels[key] = channel
            taken.add(channel)
        meanings.pop(key, None)
    naming.objective = objective([frozenset(tokens(key)) for key in meanings])
    bare_are_terms = naming.objective != "rl"
    by_role: dict[str, list[str]] = {}
    for key, what in meanings.items():
        role = what.role
        if role in ("bare_term", "bare_term_val"):
            role = role.removeprefix("bare_") if bare_are_terms else "metric"
        by_role.setdefault(role, []).append(key)
    named = _Claims(naming, taken, counts, meanings)
    _bare_terms_need_company(by_role, meanings)
    named.losses(by_role)
    for key in by_role.get("channel", ()):
        named.give(key, meanings[key].member)
    named.learning_rates(by_role.get("lr", []))
    for key in sorted(by_role.get("epoch", []), key=lambda key: meanings[key].rank):
        named.give(key, "epoch")
    for key in by_role.get("metric", ()):
        named.give(key, f"metric/{key}")
    for key in by_role.get("weak", ()):
        named.give(key, f"metric/{key}")
    return naming


def _bare_terms_need_company(by_role: dict[str, list[str]], meanings: Mapping[str, Meaning]) -> None:
    """A lone ``kl`` beside a loss is a metric; ``kl`` beside ``recon`` is a term of a sum."""
    for role in ("term", "term_val"):
        keys = by_role.get(role, [])
        if len(keys) == 1 and meanings[keys[0]].role.startswith("bare_"):
            by_role.setdefault("metric", []).append(keys.pop())


class _Claims:
    """Hands out channel names; the first to ask for one gets it."""

    def __init__(self, naming: Naming, taken: set[str], counts: Mapping[str, int], meanings: Mapping[str, Meaning]) -> None:
        self.naming, self.taken, self.counts, self.meanings = naming, taken, counts, meanings

    def give(self, key: str, channel: str) -> None:
        """Gives a key this channel, or ``metric/KEY`` when another key has it."""
        if channel in self.taken:
            channel = f"metric/{key}"
        self.taken.add(channel)
        self.naming.channels[key] = channel

    def losses(self, by_role: dict[str, list[str]]) -> None:
        """Training loss, validation losses and their terms."""
        term_members = {self.meanings[key].member for key in by_role.get("term", ())}
        sets = by_role.get("val_set", [])
        for key in [key for key in sets if self.meanings[key].member in term_members]:
            sets.remove(key)
            by_role.setdefault("term_val", []).append(key)
        self._main("loss/train", by_role.get("train", []), "loss_term")
        self._main("loss/val", by_role.get("val", []), "loss_term_val")
        self._terms("loss/train", by_role.get("term", []), "loss_term")
        self._terms("loss/val", by_role.get("term_val", []), "loss_term_val")
        self._sets(sets)
        if not any(channel in self.taken or channel in self.naming.sums for channel in ("loss/train", "loss/val")):
            self._guess(by_role.get("weak", []))

    def _main(self, channel: str, keys: list[str], term_family: str) -> None:
        if not keys:
            return
        ordered = self._by_preference(keys)
        chosen = ordered[0]
        losers = ordered[1:] if channel not in self.taken else ordered
        if channel not in self.taken:
            self.give(chosen, channel)
            if self.meanings[chosen].rank == SMOOTHED:
                self.naming.notes.append(Note("smoothed-loss", "{key} is a moving average, not the loss of each step", {"key": chosen}))
        for key in losers:
            member = self.meanings[key].member
            self.give(key, f"{term_family}/{member}" if member else f"metric/{key}")
        # A loser that became a term, or that is a moving average, was no real rival.
        losers = [key for key in losers if self.meanings[key].rank < SMOOTHED and not self.meanings[key].member]
        if losers and channel == self.naming.channels.get(chosen):
            self.naming.notes.append(Note("renamed", "{channel} is the column {key}; {others} could have been it too (--map to choose)",
                                          {"channel": channel, "key": chosen, "others": ", ".join(losers[:4])}))  # fmt: skip

    def _by_preference(self, keys: list[str]) -> list[str]:
        most = max(self.counts[key] for key in keys)

        def order(key: str) -> tuple[bool, float, int]:
            what = self.meanings[key]
            rank = what.rank + (1.5 if what.suffix == "epoch" else -0.5 if what.suffix == "step" else 0.0)
            rank += 0.25 if "test" in tokens(key) else 0.0
            return (self.counts[key] < ENOUGH_ROWS * most, rank, -self.counts[key])

        return sorted(keys, key=order)

    def _terms(self, total: str, keys: list[str], family: str) -> None:
        members: dict[str, list[str]] = {}
        for key in keys:
            members.setdefault(self.meanings[key].member, []).append(key)
        parts: list[str] = []
        for member, claimants in members.items():
            ordered = self._by_preference(claimants)
            self.give(ordered[0], f"{family}/{member}")
            parts.append(ordered[0])
            for key in ordered[1:]:
                self.give(key, f"metric/{key}")
        if parts and total not in self.taken:
            most = max(self.counts[key] for key in parts)
            parts = [key for key in parts if self.counts[key] >= ENOUGH_ROWS * most]
            self.naming.sums[total] = parts
            self.taken.add(total)
            self.naming.notes.append(Note("renamed", "{channel} is the sum of {parts}: no total was logged",
                                          {"channel": total, "parts": ", ".join(parts)}))  # fmt: skip

    def _sets(self, keys: list[str]) -> None:
        for key in keys:
            self.give(key, f"loss_val/{self.meanings[key].member}")
        if keys and "loss/val" not in self.taken:
            first = keys[0]
            self.naming.aliases["loss/val"] = first
            self.taken.add("loss/val")
            self.naming.notes.append(Note("renamed", "loss/val is {key}, the first of {count} evaluation sets",
                                          {"key": first, "count": len(keys)}))  # fmt: skip

    def _guess(self, keys: list[str]) -> None:
        for side in ("train", "val"):
            mine = [key for key in keys if self.meanings[key].member == side]
            if mine:
                chosen = self._by_preference(mine)[0]
                facts = {"key": chosen, "side": side}
                if PERPLEXITY.isdisjoint(tokens(chosen)):
                    keys.remove(chosen)
                    self.give(chosen, f"loss/{side}")
                    note = Note("guessed-loss", "nothing in the log is called a loss; {key} was taken as loss/{side}", facts)
                else:
                    self.naming.logs[f"loss/{side}"] = chosen
                    note = Note(
                        "guessed-loss", "nothing in the log is called a loss; the logarithm of {key} was taken as loss/{side}", facts
                    )
                self.naming.notes.append(note)

    def learning_rates(self, keys: list[str]) -> None:
        """``lr/0`` is always there when any learning rate is."""
        members = {self.meanings[key].member for key in keys}
        for key in sorted(keys, key=lambda key: (self.meanings[key].rank, -self.counts[key])):
            member = self.meanings[key].member
            first = "0" not in members and "lr/0" not in self.taken
            self.give(key, "lr/0" if first else f"lr/{member}")
