"""Panel 8, the batches: what the model was fed."""

from __future__ import annotations

from sismo.dashboard.panel import Panel, Plot
from sismo.postmortem import Text
from sismo.records.channels import number_of

PANEL = Panel(
    "batches",
    number_of("batch"),
    Text("Batches"),
    Text("Was the model fed something odd?"),
    (
        Plot(Text("Rarity of the tokens"), ("batch/rarity", "batch/ngram_repeats")),
        Plot(Text("Length of the batch"), ("batch/length",), optional=True),
        Plot(Text("Share of labels"), ("batch/label_share",), bounds=(0.0, 1.0), log="never", optional=True),
        Plot(
            Text("Repeats, masked rows and non-finite inputs"),
            ("batch/repeats", "batch/masked_rows", "batch/nonfinite"),
            log="never",
            optional=True,
        ),
    ),
)
