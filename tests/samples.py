"""Hand-made post-mortems for the tests of the renderers: one broken, one healthy, one that could not be judged."""

from __future__ import annotations

from sismo.postmortem import CauseItem, EvidenceItem, PostMortem, Text, UnknownItem, WalkItem


def item(
    signal: str, template: str, channel: str = "", start: int | None = None, end: int | None = None, **numbers: object
) -> EvidenceItem:
    return EvidenceItem(signal, Text(template, {**numbers, "start": start, "end": end, "channel": channel}), channel, start, end)


def cause(name: str, title: str, **changes: object) -> CauseItem:
    fields: dict[str, object] = {
        "id": name,
        "title": Text(title),
        "statement": Text(f"What happened is that {title.lower()}."),
        "severity": "broken",
        "step": 300,
        "confidence": 0.82,
        "evidence": [item("a", "loss {loss:.4g} at step {start}", "loss/train", 300, 310, loss=9.123456)],
        "against": [],
        "looked_for": [],
        "open": [],
        "first_action": Text("Reload the last checkpoint before it and divide the learning rate by 2."),
        "fixes": [Text("Clip the gradient norm at 1.0.")],
        "confirm": Text("Re-run 50 steps from that checkpoint with a tenth of the learning rate."),
        "counter": Text("The learning rate was still tiny."),
        "decider": None,
    }
    return CauseItem(**{**fields, **changes})  # type: ignore[arg-type]


def question(name: str, section: str, asks: str, answer: str, *evidence: EvidenceItem) -> WalkItem:
    return WalkItem(name, Text(section), Text(asks), answer, evidence)


FACTS = [
    Text(
        "{label}: {first:.4g} to {last:.4g}, {rows} {rows:row|rows}, {unit} {start} to {end}",
        {"label": "training loss", "first": 6.31, "last": float("nan"), "rows": 1000, "unit": "step", "start": 0, "end": 999},
    ),
]

UNKNOWN = [
    UnknownItem(
        "P4.Q1",
        Text("Do gradients reach everything?"),
        Text("grad_norm/pre"),
        Text("log the value that clip_grad_norm_ returns (the norm before clipping) at every step"),
    ),
    UnknownItem(
        "S3.Q1",
        Text("Is any gradient norm Inf or NaN?"),
        Text("grad_norm/pre"),
        Text("log the value that clip_grad_norm_ returns (the norm before clipping) at every step"),
    ),
    UnknownItem("P5.Q1", Text("Do activations grow?"), Text("act_mean_abs"), Text("record with sismo.Recorder")),
    UnknownItem("P5.Q2", Text("Are weights in scale?"), Text("spectral"), Text("record with sismo.Recorder")),
    UnknownItem("P5.Q3", Text("Is it causal?"), Text("a causality probe"), Text("record with sismo.Recorder")),
]

WALK = [
    question(
        "P1.Q1", "P1 Did the run start?", "Is the first loss within ln V ± 0.5?", "unknown", item("u", "no {missing}", missing="vocab_size")
    ),
    question(
        "P2.Q1",
        "P2 Does the schedule apply?",
        "Does the learning rate start at over half of its maximum?",
        "yes",
        item("l", "lr {lr:.3g} at step {start}, {share:.0%} of its maximum", "lr/0", 0, 0, lr=0.003, share=1.0),
    ),
    question(
        "P2.Q2", "P2 Does the schedule apply?", "Is the learning rate zero?", "no", item("z", "lr is {lr:.3g} at most", "lr/0", lr=0.003)
    ),
    question(
        "P4.Q1",
        "P4 Do gradients reach everything?",
        "Does every parameter get a gradient?",
        "unknown",
        item("u", "no {missing}", missing="grad_norm/pre"),
    ),
    question(
        "P5.Q1",
        "P5 Is the architecture sound?",
        "Do activations grow over depth?",
        "unknown",
        item("u", "no {missing}", missing="act_mean_abs"),
    ),
    question(
        "S1.Q1",
        "S1 Non-finite loss?",
        "Is the loss NaN or Inf at any logged step?",
        "yes",
        item("n", "{count} of {rows} rows are not finite, the first at step {start}", "loss/train", 310, 999, count=690, rows=1000),
    ),
    question(
        "S1.Q2",
        "S1 Non-finite loss?",
        "Did it grow before it became non-finite?",
        "yes",
        item("g", "{times:.0f} times larger over the {steps} steps before", "loss/train", 300, 310, times=12.4, steps=10),
    ),
    question(
        "S2.Q1",
        "S2 Loss spike",
        "Is there a confirmed spike?",
        "no",
        item("s", "largest z {z:.1f} in {rows} rows", "loss/train", z=3.1, rows=310),
    ),
    question("S4.Q1", "S4 Silent divergence", "Does the loss rise over the last 200 steps?", "no", item("t", "no rise")),
]

BROKEN = PostMortem(
    path="runs/2026-11-03/train.jsonl",
    name="",
    source="jsonl",
    preset="robust",
    step_unit="step",
    healthy=False,
    severity="broken",
    step=300,
    verdict=Text(
        "{title} ({id}), from {unit} {step}.", {"title": "Gradients explode", "id": "exploding-gradients", "step": 300, "unit": "step"}
    ),
    facts=FACTS,
    causes=[
        cause(
            "exploding-gradients",
            "Gradients explode",
            evidence=[
                item(
                    "a",
                    "loss {loss:.4g} at step {start}, {times:.0f} times its level before",
                    "loss/train",
                    300,
                    310,
                    loss=9.123456,
                    times=4.2,
                ),
                item(
                    "b",
                    "first non-finite row at step {start}; {count} of {rows} rows after it are not finite, and none of them comes back",
                    "loss/train",
                    310,
                    999,
                    count=690,
                    rows=1000,
                ),
            ],
            looked_for=[item("c", "learning rate is smooth around step {start}", "lr/0", 300)],
            against=[item("d", "clipping was on (clip {clip})", clip=None)],
        ),
        cause("missing-warmup", "No warmup", severity="warning", step=0, confidence=0.55),
        cause("log-of-zero", "Log of zero", step=310, confidence=0.5, consequence_of="exploding-gradients"),
    ],
    walk=WALK,
    unknown=UNKNOWN,
    notes=[Text("{count} rows without a loss were skipped", {"count": 3}), Text("step numbers are row numbers: the log has no step key")],
    note_codes=["rows-skipped", "no-step-key"],
)

HEALTHY = PostMortem(
    path="metrics.csv",
    name="",
    source="csv",
    preset="robust",
    step_unit="step",
    healthy=True,
    severity="none",
    step=None,
    verdict=Text("Healthy as far as this log shows: nothing at warning or worse over {rows} rows.", {"rows": 1000}),
    facts=FACTS,
    causes=[],
    walk=[question(i.id, i.section.template, i.asks.template, "no" if i.answer == "yes" else i.answer, *i.evidence) for i in WALK],
    unknown=UNKNOWN,
    notes=[],
)

UNJUDGED = PostMortem(
    path="-",
    name="second",
    source="text",
    preset="literal",
    step_unit="step",
    healthy=None,
    severity="none",
    step=None,
    verdict=Text("No verdict: there is not enough to judge by ({rows} {rows:row|rows} of training loss).", {"rows": 4}),
    facts=[],
    causes=[],
    walk=[],
    unknown=[],
    notes=[],
)
