"""English verbs in sentences: a time, a person, a verb in the right form, an object, a full stop.

A sentence is four choices, each uniform: 15 time phrases, 10 persons, 20 verbs, 5 objects of each verb. Everything else follows: the time
sets the tense, the tense and the person set the form of the verb, and that is where a model shows grammar. Every sentence can be parsed
back into its choices, so the entropy of the corpus is known exactly: ln(15,000) nats a sentence. Twelve verbs are regular, eight are not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from sismo.lab.types import IGNORE, Batch, Data, Settings

CONTEXT = 64
"""Places of a chunk."""
HELD_OUT = 200
"""Sentences to evaluate on."""
KINDS = ("regular", "irregular")

_TIMES = {
    "past": ("yesterday", "last night", "an hour ago"),
    "present": ("every day", "often", "on mondays"),
    "future": ("tomorrow", "next week", "soon"),
    "progressive": ("right now", "at this moment", "today"),
    "perfect": ("already", "until now", "so far"),
}
_PERSONS = ("i", "you", "we", "they", "the children", "she", "he", "my brother", "the teacher", "our friend")
_SINGULAR = ("she", "he", "my brother", "the teacher", "our friend")


class Verb(NamedTuple):
    """A verb's forms and objects."""

    base: str
    third: str
    past: str
    participle: str
    gerund: str
    objects: tuple[str, ...]
    regular: bool


def _regular(base: str, objects: str) -> Verb:
    stem = base.removesuffix("e")
    return Verb(base, f"{base}s", f"{stem}ed", f"{stem}ed", f"{stem}ing", tuple(objects.split()), True)


def _irregular(forms: str, objects: str) -> Verb:
    base, third, past, participle, gerund = forms.split()
    return Verb(base, third, past, participle, gerund, tuple(objects.split()), False)


VERBS = (
    _regular("clean", "kitchen floor window table car"),
    _regular("open", "door box gate bottle present"),
    _regular("paint", "wall fence portrait room boat"),
    _regular("visit", "museum castle city island doctor"),
    _regular("cook", "dinner rice soup fish pasta"),
    _regular("repair", "bike roof radio engine clock"),
    _regular("move", "chair piano stone bed plant"),
    _regular("call", "office police neighbour hotel bank"),
    _regular("follow", "road river dog rules plan"),
    _regular("explain", "lesson game problem map poem"),
    _regular("use", "computer hammer ladder phone oven"),
    _regular("bake", "bread cake pie biscuits pizza"),
    _irregular("write writes wrote written writing", "letter story diary song report"),
    _irregular("eat eats ate eaten eating", "apple sandwich cheese salad egg"),
    _irregular("take takes took taken taking", "train bus photo coat medicine"),
    _irregular("see sees saw seen seeing", "moon film bird mountain stars"),
    _irregular("drive drives drove driven driving", "truck tractor van taxi lorry"),
    _irregular("sing sings sang sung singing", "anthem carol tune ballad chorus"),
    _irregular("break breaks broke broken breaking", "glass cup record vase toy"),
    _irregular("give gives gave given giving", "speech answer prize party reason"),
)
SENTENCES = sum(map(len, _TIMES.values())) * len(_PERSONS) * len(VERBS) * len(VERBS[0].objects)


def sentence(number: int) -> tuple[tuple[str, ...], int, bool]:
    """The words of a sentence, the place of its verb, and whether that is regular. Numbers run from 0 to ``SENTENCES`` - 1."""
    number, at = divmod(number, len(VERBS[0].objects))
    number, which = divmod(number, len(VERBS))
    when, who = divmod(number, len(_PERSONS))
    tense, time = [(tense, time) for tense, times in _TIMES.items() for time in times][when]
    person, verb = _PERSONS[who], VERBS[which]
    helper, form = _form(verb, tense, person)
    before = [*time.split(), *person.split(), *helper]
    return (*before, form, "the", verb.objects[at], "."), len(before), verb.regular


def _form(verb: Verb, tense: str, person: str) -> tuple[tuple[str, ...], str]:
    singular = person in _SINGULAR
    match tense:
        case "past":
            return (), verb.past
        case "present":
            return (), verb.third if singular else verb.base
        case "future":
            return ("will",), verb.base
        case "progressive":
            return ("am" if person == "i" else "is" if singular else "are",), verb.gerund
        case _:
            return ("has" if singular else "have",), verb.participle


@cache
def words() -> tuple[str, ...]:
    """The vocabulary: what begins a sentence first, then every word in alphabetical order."""
    return ("<start>", *sorted({word for number in range(SENTENCES) for word in sentence(number)[0]}))


@cache
def mean_length() -> float:
    """Words of a sentence on average, over all sentences."""
    return sum(len(sentence(number)[0]) for number in range(SENTENCES)) / SENTENCES


def entropy(rows: int) -> float:
    """Nats a word that no model can go under on sentences that are not among ``rows`` training sentences."""
    return math.log(SENTENCES - rows) / mean_length()


def data(settings: Settings) -> Data:
    """``settings.rows`` sentences to train on and 200 others to evaluate on, all different; one a row, or in chunks of 64 words."""
    order = torch.randperm(SENTENCES, generator=torch.Generator().manual_seed(settings.seed)).tolist()
    train, val = order[: settings.rows], order[settings.rows : settings.rows + HELD_OUT]
    lay = _rows if settings.layout == "rows" else _chunks
    return Data(lay(train), lay(val), KINDS, entropy(settings.rows))


def _encoded(number: int) -> tuple[list[int], list[int]]:
    """The tokens of a sentence after its start, and the class of each: 0 and 1 for the verb, -1 for everything else."""
    spoken, place, regular = sentence(number)
    kinds = [-1] * len(spoken)
    kinds[place] = KINDS.index("regular" if regular else "irregular")
    return [_index()[word] for word in spoken], kinds


@cache
def _index() -> dict[str, int]:
    return {word: at for at, word in enumerate(words())}


def _rows(numbers: Sequence[int]) -> Batch:
    encoded = [_encoded(number) for number in numbers]
    longest = max(len(tokens) for tokens, _ in encoded)
    inputs = [[0, *tokens[:-1], *[0] * (longest - len(tokens))] for tokens, _ in encoded]
    targets = [[*tokens, *[IGNORE] * (longest - len(tokens))] for tokens, _ in encoded]
    kinds = [[*kind, *[-1] * (longest - len(kind))] for _, kind in encoded]
    return Batch(torch.tensor(inputs), torch.tensor(targets), torch.tensor(kinds))


def _chunks(numbers: Sequence[int]) -> Batch:
    encoded = [_encoded(number) for number in numbers]
    text = torch.tensor([token for tokens, _ in encoded for token in (0, *tokens)])
    kinds = torch.tensor([kind for _, kind in encoded for kind in (-1, *kind)])
    return Batch(_cut(text[:-1]), _cut(text[1:]), _cut(kinds[1:]))


def _cut(text: Tensor) -> Tensor:
    whole = len(text) // CONTEXT * CONTEXT
    return text[:whole].view(-1, CONTEXT)
