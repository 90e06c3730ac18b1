"""Remedies for leaks, and for data that is not what it is taken for."""

from __future__ import annotations

from sismo.tree.remedy import Kind, Remedy, Restart

_LABELS = "print([(labels != -100).sum().item() for _, labels in itertools.islice(loader, 8)])"

REMEDIES = (
    Remedy(
        cause="causal-mask-broken",
        kind=Kind.PROBE,
        restart=Restart.AFRESH,
        code="mask = torch.ones(length, length, dtype=torch.bool).tril()  # True = may attend; not ones alone",
        probe="causal",
        expect="No earlier logit moves when a later token is changed; trained anew, the loss falls slowly and stays over the entropy of the data.",
        within=200,
        lesson="A loss that is too good to be true is: test causality once, before the first long run.",
    ),
    Remedy(
        cause="target-in-input",
        kind=Kind.PROBE,
        restart=Restart.AFRESH,
        code="logits, targets = logits[:, :-1], tokens[:, 1:]  # shifted by one, once",
        probe="causal",
        expect="With targets shuffled within the batch the loss stays at the guess instead of near 0.",
        within=200,
        lesson="Look at one example as the model gets it, decoded, before training.",
    ),
    Remedy(
        cause="train-val-overlap",
        kind=Kind.PROBE,
        restart=Restart.NOT,
        code="overlap = {hash(x) for x in train} & {hash(x) for x in validation}",
        probe="leakage",
        expect="The overlap is empty; on a clean split the validation loss is at or over the training loss in evaluation mode.",
        within=0,
        lesson="Split by group (patient, document, video), not by row.",
    ),
    Remedy(
        cause="all-labels-masked",
        kind=Kind.PROBE,
        skip=True,
        code=_LABELS,
        probe="leakage",
        expect="Every batch has labels, and the loss is neither 0 nor NaN.",
        within=1,
        lesson="Print the share of tokens that carry loss before training; truncation and templates take it to 0 silently.",
    ),
    Remedy(
        cause="tokenization-mismatch",
        kind=Kind.CODE,
        restart=Restart.AFRESH,
        code="conv = conv_templates[model_template]  # the template and tokenizer version that the model was made with",
        expect="The warnings are gone and the loss is over 0 from the first step.",
        within=20,
        lesson="A mismatch by a constant number of tokens is the template, not the data.",
    ),
    Remedy(
        cause="degenerate-targets",
        kind=Kind.PROBE,
        restart=Restart.AFRESH,
        code="print(targets.unique(return_counts=True))",
        probe="batch",
        expect="Targets differ within a batch, and the first gradient norm is over 0.001.",
        within=1,
        lesson="Count the classes in the first batch: a task with one answer teaches nothing.",
    ),
    Remedy(
        cause="entropy-floor-crossed",
        kind=Kind.PROBE,
        restart=Restart.AFRESH,
        code="mask = torch.ones(length, length, dtype=torch.bool).tril()  # True = may attend; not ones alone",
        probe="causal",
        expect="No earlier logit moves when a later token is changed, and the validation loss stays over the entropy of the data.",
        within=200,
        lesson="Estimate the entropy of the corpus once: no honest loss goes under it.",
    ),
)  # fmt: skip
