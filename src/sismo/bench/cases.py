"""How often the established cause comes first on real logs: ``python -m sismo.bench.cases [DIR] [--write] [--wrong]``.

DIR holds ``cases.jsonl`` and the files that it names; the logs are other people's, so they are not part of this project.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sismo.bench import tables
from sismo.bench.labels import LABELS, SYMPTOMS, Label
from sismo.bench.verdicts import Verdict, of_file

DEFAULT = Path(__file__).resolve().parents[4] / "shared" / "cases"

CONFIDENT = 0.75
MAX_FALSE_WARNINGS = 1
MIN_RIGHT = 0.60
MAX_CONFIDENTLY_WRONG = 0.05

ABOUT_THE_FILE = frozenset({"several-runs"})
"""Notes that settle a case by themselves: what was established is about the file, and each run in it is judged on its own."""

RIGHT = ("right", "right-pair")
"""``right-pair``: the verdict is an open pair of look-alikes and the established cause is one of the two."""


@dataclass(frozen=True, slots=True)
class Case:
    """One real log and what is known about it."""

    id: str
    path: str
    status: str
    cause: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What sismo made of a case: the class of the verdict, and whether any of its first three causes is right."""

    case: Case
    verdict: Verdict
    result: str
    in_three: bool


def read_cases(folder: Path) -> list[Case]:
    """The cases in a folder. Raises FileNotFoundError when ``cases.jsonl`` is not there."""
    lines = (folder / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines if line.strip()]
    return [Case(row["id"], row["path"], row["status"], row["cause"]) for row in rows]


def classify(case: Case, label: Label, verdict: Verdict) -> str:
    """The class of a verdict on a case."""
    if verdict.error:
        return "CRASHED" if verdict.crashed else "unreadable"
    if label.same & verdict.codes & ABOUT_THE_FILE:
        return "right"
    alarm, first = verdict.alarm, verdict.first
    if case.status == "healthy":
        return "right" if alarm is None else "false warning"
    if first is not None and first.id in label.same:
        return "right"
    if alarm is None and label.same & (verdict.codes | {cause.id for cause in verdict.causes}):
        return "right"
    if first is not None and label.same & set(first.twins):
        return "right-pair"
    if case.status == "unknown" and alarm is None:
        return "right"
    if first is not None and first.id in label.near:
        return "right-family"
    if first is not None and first.id in SYMPTOMS:
        return "symptom"
    if alarm is None:
        return "missed" if verdict.healthy else "unknown-honest"
    return "CONFIDENTLY WRONG" if alarm.confidence >= CONFIDENT else "wrong-quiet"


def judge_all(folder: Path) -> list[Outcome]:
    """Reads and judges every case in a folder."""
    outcomes: list[Outcome] = []
    for case in read_cases(folder):
        label, verdict = LABELS[case.cause], of_file(folder / case.path)
        three = {cause.id for cause in verdict.causes[:3]} | set(verdict.first.twins if verdict.first else ())
        result = classify(case, label, verdict)
        outcomes.append(Outcome(case, verdict, result, result in RIGHT or bool(label.same & three)))
    return outcomes


def totals(outcomes: Sequence[Outcome]) -> tuple[list[tuple[str, str, str]], bool]:
    """The totals against their targets, as rows, and whether all of them are met."""
    healthy = [o for o in outcomes if o.case.status == "healthy"]
    faulty = [o for o in outcomes if o.case.status in ("broken", "suspicious")]
    unreadable, crashed = (sum(o.result == result for o in outcomes) for result in ("unreadable", "CRASHED"))
    false = sum(o.result == "false warning" for o in healthy)
    exact, right = sum(o.result == "right" for o in faulty), sum(o.result in RIGHT for o in faulty)
    three, wrong = sum(o.in_three for o in faulty), sum(o.result == "CONFIDENTLY WRONG" for o in faulty)
    n = max(1, len(faulty))
    rows = [
        ("false warnings on healthy logs", tables.share(false, len(healthy)), f"<= {MAX_FALSE_WARNINGS}"),
        ("established cause first", tables.share(exact, len(faulty)), f">= {MIN_RIGHT:.0%}"),
        ("… or in the open pair that comes first", tables.share(right, len(faulty)), ""),
        ("… among the first three", tables.share(three, len(faulty)), ""),
        ("confidently wrong", tables.share(wrong, len(faulty)), f"<= {MAX_CONFIDENTLY_WRONG:.0%}"),
        ("refused as unreadable", f"{unreadable} of {len(outcomes)}", "one clear line each"),
        ("crashed", f"{crashed} of {len(outcomes)}", "0"),
    ]
    met = false <= MAX_FALSE_WARNINGS and exact / n >= MIN_RIGHT and wrong / n <= MAX_CONFIDENTLY_WRONG and not crashed
    return rows, met


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the table; 0 when the targets are met, 1 when not, 2 when there are no cases."""
    parser = argparse.ArgumentParser(prog="python -m sismo.bench.cases", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=DEFAULT, metavar="DIR")
    parser.add_argument("--write", action="store_true", help="write the totals to docs/results.md")
    parser.add_argument("--wrong", action="store_true", help="print only the cases that are not right")
    options = parser.parse_args(arguments)
    if not (options.folder / "cases.jsonl").is_file():
        print(f"no cases: looked for {options.folder / 'cases.jsonl'}; give the folder as the argument", file=sys.stderr)
        return 2
    outcomes = judge_all(options.folder)
    shown = [o for o in outcomes if not (options.wrong and o.result == "right")]
    print(
        tables.plain(("case", "status", "established", "first cause", "sev.", "conf.", "step", "result", "in 3"), [_row(o) for o in shown])
    )
    summary, met = totals(outcomes)
    counts = Counter(f"{o.case.status}: {o.result}" for o in outcomes)
    by_class = [(name, str(count)) for name, count in sorted(counts.items())]
    print("\n" + tables.plain(("status: result", "cases"), by_class))
    print("\n" + tables.plain(("measure", "result", "target"), summary))
    if options.write:
        body = tables.markdown(("measure", "result", "target"), summary) + "\n\n" + tables.markdown(("status: result", "cases"), by_class)
        tables.write_section("cases", "Real logs (`make cases`)", body)
    return 0 if met else 1


def _row(outcome: Outcome) -> tuple[str, ...]:
    case, verdict = outcome.case, outcome.verdict
    first = verdict.first
    if first is None:
        said = (verdict.error[:50] if verdict.error else f"(healthy: {verdict.healthy})", "", "", "")
    else:
        said = (
            "/".join([first.id, *first.twins]),
            first.severity,
            f"{first.confidence:.2f}",
            "" if first.step is None else str(first.step),
        )
    return (case.id, case.status, case.cause, *said, outcome.result, "yes" if outcome.in_three else "")


if __name__ == "__main__":
    raise SystemExit(main())
