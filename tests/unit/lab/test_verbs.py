"""The corpus of English verbs: its grammar, its entropy, its split and its layouts."""

from __future__ import annotations

import math

import pytest

from sismo.lab.corpora import verbs
from sismo.lab.models.mini_gpt import VOCABULARY
from sismo.lab.types import IGNORE, Settings


def test_every_sentence_is_different_so_that_the_entropy_is_the_logarithm_of_their_number() -> None:
    every = [verbs.sentence(number) for number in range(verbs.SENTENCES)]
    assert len({words for words, _, _ in every}) == verbs.SENTENCES
    length = sum(len(words) for words, _, _ in every) / len(every)
    assert verbs.entropy(0) == pytest.approx(math.log(verbs.SENTENCES) / length)


def test_verbs_have_the_form_that_time_and_person_ask_for() -> None:
    said = {" ".join(verbs.sentence(number)[0]) for number in range(verbs.SENTENCES)}
    assert {
        "yesterday she wrote the letter .",
        "every day my brother writes the song .",
        "next week i will bake the bread .",
        "right now i am baking the cake .",
        "so far our friend has broken the glass .",
        "already they have cleaned the car .",
    } <= said
    assert sum(verb.regular for verb in verbs.VERBS) == 12
    assert sum(not verb.regular for verb in verbs.VERBS) == 8


def test_words_fit_the_model_and_the_split_is_clean() -> None:
    assert len(verbs.words()) <= VOCABULARY
    data = verbs.data(Settings(rows=700))
    train = {tuple(row) for row in data.train.inputs.tolist()}
    assert len(train) == 700
    assert not train & {tuple(row) for row in data.val.inputs.tolist()}
    assert verbs.data(Settings(rows=700)).train.inputs.equal(data.train.inputs)
    assert not verbs.data(Settings(rows=700, seed=1)).train.inputs.equal(data.train.inputs)


@pytest.mark.parametrize("layout", ["rows", "chunks"])
def test_a_target_is_the_next_token_and_every_verb_has_its_class(layout: str) -> None:
    train = verbs.data(Settings(rows=300, layout=layout)).train
    assert train.inputs.shape == train.targets.shape == train.kinds.shape
    seen = train.targets[:, 1:] != IGNORE
    assert train.inputs[:, 1:][seen].equal(train.targets[:, :-1][seen])
    index = {word: at for at, word in enumerate(verbs.words())}
    regular = {index[form] for verb in verbs.VERBS if verb.regular for form in (verb.base, verb.third, verb.past, verb.gerund)}
    assert set(train.targets[train.kinds == 0].tolist()) <= regular
    assert not set(train.targets[train.kinds == 1].tolist()) & regular
