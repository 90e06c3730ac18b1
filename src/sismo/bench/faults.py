"""Synthetic faults and healthy runs: ``python -m sismo.bench.faults [--seeds 5] [--healthy 200] [--from 0] [--peers] [--write]``.

Every run goes the whole way: it is written in a format that can hold it (they take turns), read back and judged. ``--from N``
takes other seeds than those that the tests know: what only passes there was fitted to them.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sismo.bench import peers, tables
from sismo.bench.verdicts import Verdict, of_file
from sismo.lab.drawn.catalogue import families, faults
from sismo.lab.drawn.files import fitting, write
from sismo.lab.drawn.types import Noise, Recipe, Sample

SEEDS = 5
HEALTHY = 200
MAX_MISSED_PER_SEED = 1
MAX_FALSE_ALARMS = 0


@dataclass(frozen=True, slots=True)
class Trial:
    """One synthetic run, the file that it was read from, and what was said."""

    recipe: str
    seed: int
    sample: Sample
    form: str
    path: Path
    verdict: Verdict

    @property
    def right(self) -> bool:
        """Whether an expected cause comes first (faults), or nothing at warning or worse is named (healthy runs)."""
        if self.sample.expects:
            return self.verdict.first is not None and self.verdict.first.id in self.sample.expects
        return not self.verdict.error and self.verdict.alarm is None


def try_one(recipe: Recipe, seed: int, folder: Path) -> Trial:
    """Makes, writes, reads and judges one run."""
    sample = recipe.make(seed, Noise.of(seed))
    form = fitting(sample.run, seed)
    path = write(sample.run, folder, f"{recipe.id}-{seed}", form)
    return Trial(recipe.id, seed, sample, form.id, path, of_file(path))


def try_faults(seeds: int, folder: Path, first: int = 0) -> list[Trial]:
    """Every fault at so many seeds from ``first`` on."""
    return [try_one(recipe, seed, folder) for recipe in faults().values() for seed in range(first, first + seeds)]


def try_healthy(count: int, folder: Path, first: int = 0) -> list[Trial]:
    """So many healthy runs, spread evenly over the families."""
    recipes = list(families().values())
    return [try_one(recipes[i % len(recipes)], first + i // len(recipes), folder) for i in range(count)]


def missed_per_seed(trials: Sequence[Trial]) -> dict[int, int]:
    """How many faults did not have a right cause first, by seed."""
    missed: dict[int, int] = defaultdict(int)
    for trial in trials:
        missed[trial.seed] += not trial.right
    return dict(missed)


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the tables; 0 when the targets are met, 1 when not."""
    parser = argparse.ArgumentParser(prog="python -m sismo.bench.faults", description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--healthy", type=int, default=HEALTHY)
    parser.add_argument("--from", type=int, default=0, dest="first", metavar="N", help="first seed")
    parser.add_argument("--peers", action="store_true", help="ask losslint and runmedic about the same files")
    parser.add_argument("--write", action="store_true", help="write the tables to docs/results.md")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        broken, healthy = try_faults(options.seeds, folder, options.first), try_healthy(options.healthy, folder, options.first)
        beside = {peer: _peer_line(peer, broken, healthy) for peer in ("losslint", "runmedic")} if options.peers else {}
    details = ("fault", "seed", "variant", "format", "expected", "first cause", "sev.", "conf.", "step", "right")
    print(tables.plain(details, [_fault_row(trial) for trial in broken]))
    by_fault = _by_fault(broken, options.seeds)
    print("\n" + tables.plain(*by_fault))
    alarms = [trial for trial in healthy if not trial.right]
    if alarms:
        print(
            "\n"
            + tables.plain(
                ("healthy family", "seed", "variant", "format", "alarm", "sev.", "conf.", "step"), [_alarm_row(t) for t in alarms]
            )
        )
    missed = missed_per_seed(broken)
    summary = [
        (
            "right cause first, worst seed",
            f"{len(faults()) - max(missed.values())} of {len(faults())}",
            f">= {len(faults()) - MAX_MISSED_PER_SEED}",
        ),
        ("right cause first, all seeds", tables.share(sum(t.right for t in broken), len(broken)), ""),
        ("false alarms on healthy runs", tables.share(len(alarms), len(healthy)), f"<= {MAX_FALSE_ALARMS}"),
    ]
    print("\n" + tables.plain(("measure", "result", "target"), summary))
    peer_table = (
        ("tool", "flagged", "cause or symptom first", "healthy runs with an alarm", "not read"),
        [_own_line(broken, healthy), *beside.values()],
    )
    if beside:
        print("\n" + tables.plain(*peer_table))
    if options.write:
        parts = [tables.markdown(("measure", "result", "target"), summary), tables.markdown(*by_fault)]
        if beside:
            parts.append(tables.markdown(*peer_table))
        if options.first:
            title = f"Other seeds than those of the tests ({options.first} to {options.first + options.seeds - 1})"
            tables.write_section("faults-other-seeds", title, "\n\n".join(parts))
        else:
            tables.write_section("faults", "Synthetic faults and healthy runs (`make bench`)", "\n\n".join(parts))
    return 0 if max(missed.values()) <= MAX_MISSED_PER_SEED and len(alarms) <= MAX_FALSE_ALARMS else 1


def _said(verdict: Verdict) -> tuple[str, str, str, str]:
    first = verdict.first
    if first is None:
        return (verdict.error[:60] or f"(healthy: {verdict.healthy})", "", "", "")
    return ("/".join([first.id, *first.twins]), first.severity, f"{first.confidence:.2f}", "" if first.step is None else str(first.step))


def _fault_row(trial: Trial) -> tuple[str, ...]:
    truth = f"{trial.sample.expects[0]} @{trial.sample.step}"
    said = _said(trial.verdict)
    return (trial.recipe, str(trial.seed), trial.sample.variant, trial.form, truth, *said, "yes" if trial.right else "NO")


def _alarm_row(trial: Trial) -> tuple[str, ...]:
    return (trial.recipe, str(trial.seed), trial.sample.variant, trial.form, *_said(trial.verdict))


def _by_fault(trials: Sequence[Trial], seeds: int) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    rows: list[tuple[str, ...]] = []
    for recipe in faults().values():
        own = [trial for trial in trials if trial.recipe == recipe.id]
        rows.append((recipe.id, recipe.about, own[0].sample.expects[0], f"{sum(trial.right for trial in own)} of {seeds}"))
    return ("fault", "what happens", "main cause", "right first"), rows


def _own_line(broken: Sequence[Trial], healthy: Sequence[Trial]) -> tuple[str, ...]:
    flagged = sum(trial.verdict.alarm is not None for trial in broken)
    unread = sum(bool(trial.verdict.error) for trial in [*broken, *healthy])
    right, alarms = sum(trial.right for trial in broken), sum(trial.verdict.alarm is not None for trial in healthy)
    return ("sismo (cause only)", f"{flagged} of {len(broken)}", f"{right} of {len(broken)}", f"{alarms} of {len(healthy)}", str(unread))


def _peer_line(peer: str, broken: Sequence[Trial], healthy: Sequence[Trial]) -> tuple[str, ...]:
    answers = [(trial, peers.ask(peer, trial.path)) for trial in broken]
    calm = [peers.ask(peer, trial.path) for trial in healthy]
    flagged = sum(bool(answer.checks) for _, answer in answers)
    right = sum(peers.is_right(peer, answer, trial.sample.expects) for trial, answer in answers)
    unread = sum(bool(answer.error) for answer in [*(answer for _, answer in answers), *calm])
    alarms = sum(bool(answer.checks) for answer in calm)
    return (peer, f"{flagged} of {len(broken)}", f"{right} of {len(broken)}", f"{alarms} of {len(healthy)}", str(unread))


if __name__ == "__main__":
    raise SystemExit(main())
