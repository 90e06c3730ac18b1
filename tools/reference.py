"""Writes docs/reference from the catalogue: the same words that ``sismo explain`` prints.

python tools/reference.py           write the pages
python tools/reference.py --check   say whether they are what would be written
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from sismo.records.channels import FAMILIES
from sismo.signals.registry import detectors, thresholds
from sismo.tree.catalogue import causes, trees

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "reference"


def pages() -> dict[str, str]:
    """Every page by file name."""
    made = {"questions.md": _questions, "causes.md": _causes, "thresholds.md": _thresholds, "channels.md": _channels}
    head = "<!-- written by `make docs`; do not edit -->\n\n"
    return {name: head + "\n".join(write()) + "\n" for name, write in made.items()}


def _questions() -> Iterator[str]:
    yield "# Questions"
    for tree in trees().values():
        yield f"\n## {tree.title}"
        for node in tree.nodes:
            yield f"\n### {node.id}\n\n**{node.section}.** {node.asks}\n"
            yield f"{node.why}\n"
            yield f"- Reads: {', '.join(f'`{signal}`' for signal in node.signals)}"
            for name, follow in (("Yes", node.yes), ("No", node.no), ("Unknown", node.unknown)):
                if follow:
                    yield f"- {name}: {', '.join(follow)}"
            for name, text in (
                ("Often confused with", node.confused_with),
                ("What to try", node.try_next),
                ("References", node.references),
            ):
                if text:
                    yield f"- {name}: {text}"


def _causes() -> Iterator[str]:
    yield "# Causes"
    families: dict[str, list[str]] = {}
    for cause in causes().values():
        families.setdefault(cause.family, []).append(cause.id)
    for family, ids in sorted(families.items()):
        yield f"\n## {family.capitalize()}"
        for cause in (causes()[name] for name in ids):
            yield f"\n### {cause.id}\n\n**{cause.title}** ({cause.severity.value}). {cause.statement}\n"
            yield f"- Do first: {cause.first_action}"
            yield from (f"- Also: {fix}" for fix in cause.fixes)
            yield f"- To confirm: {cause.confirm}"
            yield f"- Would refute: {cause.counter}"
            for name, named in (("Needs all of", cause.needs), ("Needs one of", cause.needs_any), ("Ruled out by", cause.vetoes)):
                if named:
                    yield f"- {name}: {', '.join(f'`{signal}`' for signal in named)}"
            if cause.twins:
                yield f"- Often confused with: {', '.join(cause.twins)}. {cause.decider}".rstrip()
            yield f"- Source: {cause.source}"


def _thresholds() -> Iterator[str]:
    yield "# Thresholds\n"
    yield "`--preset literal` takes the decision trees' own numbers to the letter; `robust`, the default, those that hold on real curves.\n"
    yield "| name | robust | literal | unit | what it decides | used by | source |\n|---|---|---|---|---|---|---|"
    for limit in sorted(thresholds().values(), key=lambda limit: limit.name):
        users = ", ".join(name for name, detector in sorted(detectors().items()) if limit in detector.thresholds)
        yield f"| `{limit.name}` | {limit.robust:g} | {limit.literal:g} | {limit.unit} | {limit.about} | {users} | {limit.source} |"


def _channels() -> Iterator[str]:
    yield "# Channels\n"
    yield "The names that a measurement can have. `--map CHANNEL=COLUMN` takes any of them.\n"
    yield "| family | unit | a member is | what it is | how to log it |\n|---|---|---|---|---|"
    for family in FAMILIES.values():
        yield f"| `{family.name}` | {family.unit} | {family.scope} | {family.about} | {family.record} |"


def readme() -> str:
    """The README with its two outputs as they are now."""
    logs = sorted(f"examples/{path.name}" for path in (ROOT / "examples").iterdir() if path.suffix != ".py")
    report = _printed("examples/lightning-nan.csv").partition("\nThe path")[0]
    table = _printed("--fail-on", "never", *logs).partition("\n\n")[0]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for opening, output in (("$ sismo diagnose examples/lightning-nan.csv", report), ("$ make demo", table)):
        before, _, rest = text.partition(f"```\n{opening}\n")
        text = f"{before}```\n{opening}\n{output.rstrip()}\n```{rest.partition('```')[2]}"
    return text


def _printed(*arguments: str) -> str:
    environment = {**os.environ, "SISMO_LANG": "en", "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-m", "sismo", "diagnose", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", check=False).stdout


def main() -> None:
    """Writes the pages and the README."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8", newline="\n")
    (ROOT / "README.md").write_text(readme(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
