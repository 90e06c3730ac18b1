"""The words of logs in other languages than English: ``Validierungsverlust`` is ``val loss``, ``学习率`` is ``lr``."""

from __future__ import annotations

import re

_WHOLE = {
    "perdida": "loss", "perdidas": "loss", "entrenamiento": "train", "validacion": "val", "prueba": "test", "epoca": "epoch",
    "paso": "step", "iteracion": "iteration", "aprendizaje": "lr",
    "verlust": "loss", "trainingsverlust": "train loss", "validierungsverlust": "val loss", "testverlust": "test loss",
    "validierung": "val", "epoche": "epoch", "schritt": "step", "lernrate": "lr",
    "perte": "loss", "entrainement": "train", "epoque": "epoch", "etape": "step", "apprentissage": "lr",
    "perda": "loss", "treino": "train", "treinamento": "train", "validacao": "val", "passo": "step",
    "aprendizado": "lr", "aprendizagem": "lr",
    "perdita": "loss", "addestramento": "train", "validazione": "val", "apprendimento": "lr",
}  # fmt: skip
"""Of Spanish, German, French, Portuguese and Italian, without their accents: a word of a key, never a part of one."""

_INSIDE = {
    "学习率": "lr", "學習率": "lr", "学習率": "lr", "학습률": "lr", "скорость обучения": "lr",
    "损失": "loss", "損失": "loss", "ロス": "loss", "손실": "loss", "потеря": "loss", "потери": "loss",
    "训练": "train", "訓練": "train", "学習": "train", "훈련": "train", "학습": "train", "обучение": "train", "обучения": "train",
    "验证": "val", "驗證": "val", "検証": "val", "검증": "val", "валидация": "val", "валидации": "val",
    "测试": "test", "測試": "test", "テスト": "test",
    "轮次": "epoch", "轮数": "epoch", "轮": "epoch", "輪": "epoch", "エポック": "epoch",
    "에폭": "epoch", "에포크": "epoch", "эпоха": "epoch",
    "步数": "step", "步": "step", "ステップ": "step", "스텝": "step", "шаг": "step", "迭代": "iteration", "イテレーション": "iteration",
}  # fmt: skip
"""Of Chinese, Japanese, Korean and Russian: these run together with what stands beside them."""

HINTS = ("rdida", "verlust", "perte", "perda", "perdita", *(word for word, said in _INSIDE.items() if said == "loss"))
"""What a line in one of these languages has that tells a loss, in lower case."""
EPOCHS = ("poca", "epoche", "poque", *(word for word, said in _INSIDE.items() if said == "epoch"))
"""The same for an epoch."""
RATES = tuple(word for word, said in (_WHOLE | _INSIDE).items() if said == "lr")
"""The same for a learning rate."""

_LETTERS = re.compile("|".join(sorted(map(re.escape, _INSIDE), key=len, reverse=True)))
_ACCENTS = str.maketrans("áàâãäéèêëíìîïóòôõöúùûüñç", "aaaaaeeeeiiiiooooouuuunc")
_NTH = re.compile(r"第\s*(\d+)\s*(?:/\s*\d+\s*)?个?\s*(轮|輪|步|エポック|ステップ|epoch|step|次迭代)", re.IGNORECASE)


def in_english(key: str) -> str:
    """A key in lower case with the words of other languages as English ones, and letters without accents."""
    if not key.isascii():
        key = _LETTERS.sub(lambda found: f" {_INSIDE[found[0]]} ", key).translate(_ACCENTS)
    return key


def word_in_english(word: str) -> str:
    """One word of a key, without accents, in English; two where it is made of two."""
    return _WHOLE.get(word, word)


def nth(line: str, start: int) -> tuple[str, tuple[int, int], int] | None:
    """What ``第 3 轮`` and ``第100步`` count where a line begins so, where the number stands, and where it ends."""
    found = _NTH.match(line, start)
    return (in_english(found[2].lower()).removeprefix("次").strip(), found.span(1), found.end()) if found else None
