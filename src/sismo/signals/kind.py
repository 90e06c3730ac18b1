"""What kind of run it is, told by the names of its columns and by where its loss starts."""

from __future__ import annotations

import numpy as np

from sismo.records.channels import LOSS_TRAIN
from sismo.records.types import RECORDED
from sismo.signals.view import View

PER_TOKEN = ("ppl", "perplexity", "bpb")
"""Columns that only a loss per token has."""
TOKENS = ("mfu", "token")
"""Columns of trainers that count tokens: their speed, and the share of the machine that they use, which nobody else prints."""
_LARGE_VOCABULARY = 200
LARGEST_ENTROPY = 14.0
"""ln of a vocabulary of 1.2 million: no uniform guess over tokens costs more."""
_BELOW = 0.05
_FIRST_FALL = 1.0
_SOON = 20
"""Steps after the first in which no model of language gets to half of its guess."""
_FIRST_LOSS = (6.9, LARGEST_ENTROPY)
"""From ln of 1,000 on: a first loss between them is a uniform guess over tokens."""


def names(view: View, *words: str) -> bool:
    """Whether any channel has one of the words in its name, in lower case."""
    return any(word in name.lower() for name in view.channels for word in words)


def without_vocabulary(view: View) -> bool:
    """Whether it is known to predict no tokens: the recorder finds the vocabulary of a model that has one."""
    return view.header.source == RECORDED and view.header.vocab_size is None


def classes(view: View) -> int | None:
    """The size of the vocabulary, or the number of classes that a recorded cross-entropy tells apart; None where neither is known."""
    size = view.header.vocab_size or 0  # some configurations say -1 for "as the tokenizer has it"
    counted = view.finite("target/classes")
    if size < 2 and counted is not None and len(counted):
        size = int(counted.values[-1])
    return size if size >= 2 else None


def goes_below_zero(view: View) -> bool:
    """Whether more than one in twenty rows of the loss are under 0, as those of a policy, of two networks and of a density are."""
    loss = view.finite(LOSS_TRAIN)
    return loss is not None and len(loss) > 0 and float(np.mean(loss.values < 0)) > _BELOW


def fine_tuned(view: View) -> bool:
    """Whether a recorded run trains less than half of its model: what is frozen was trained before, and is as sure as that left it."""
    total, trained = view.fact("parameters"), view.fact("trained")
    return isinstance(total, int) and isinstance(trained, int) and 0 < 2 * trained < total


def language_sign(view: View) -> str:
    """What shows that it is a language model (``vocabulary``, ``perplexity``, ``first loss``); empty where nothing does."""
    if view.header.vocab_size is not None and view.header.vocab_size >= _LARGE_VOCABULARY:
        return "vocabulary"
    if names(view, *PER_TOKEN):
        return "perplexity"
    loss = view.finite(LOSS_TRAIN)
    low, high = _FIRST_LOSS
    starts = loss is not None and len(loss) > 0 and low < float(loss.values[0]) < high and not view.family("loss_term")
    # One step takes a fresh model of language a few tenths of a nat from its guess, and some more leave it what the frequencies of its
    # tokens cost, over half of that; what falls faster was no guess.
    if starts and loss is not None and len(loss) > 1 and (apart := int(loss.steps[1]) - int(loss.steps[0])) <= _SOON:
        starts = float(loss.values[1]) > (float(loss.values[0]) - _FIRST_FALL if apart == 1 else 0.5 * float(loss.values[0]))
    return "first loss" if starts and not without_vocabulary(view) else ""
