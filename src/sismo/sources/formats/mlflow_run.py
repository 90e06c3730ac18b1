"""A run in MLflow's file store: ``meta.yaml`` beside ``metrics/KEY``, each metric a file of lines ``timestamp value step``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sismo.errors import MalformedLog
from sismo.records.types import Run
from sismo.sources.base import Content, Format, Sample, Table
from sismo.sources.numbers import number
from sismo.sources.objects import add_points
from sismo.sources.rows import RowBuilder

MAX_PARAM_BYTES = 4096


class MlflowRun(Format):
    name = "mlflow-run"
    about = "MLflow's file store: the folder of a run in mlruns/"

    def score(self, sample: Sample) -> int:
        folder = sample.path
        found = sample.is_dir and folder is not None and (folder / "meta.yaml").is_file() and (folder / "metrics").is_dir()
        return 85 if found else 0

    def read(self, content: Content) -> list[Table | Run]:
        if content.path is None:
            raise MalformedLog(content.label, "a run of MLflow is a folder")
        builder = RowBuilder(self.name)
        add_points(builder, _points(builder, content.path / "metrics"))
        if not builder.n_rows:
            raise MalformedLog(content.label, "no metric of this MLflow run could be read")
        for param in sorted((content.path / "params").glob("**/*")):
            if param.is_file() and param.stat().st_size <= MAX_PARAM_BYTES:
                builder.config[param.name] = param.read_text("utf-8", errors="replace").strip()
        return [builder.table()]


def _points(builder: RowBuilder, folder: Path) -> Iterator[tuple[str, float, float]]:
    for file in sorted(folder.glob("**/*")):
        if not file.is_file():
            continue
        key = file.relative_to(folder).as_posix()
        with file.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                cells = line.split()
                value, step = (number(cells[1]), number(cells[2])) if len(cells) == 3 else (None, None)
                if value is None or step is None:
                    builder.skipped += 1
                else:
                    yield key, step, value


FORMAT = MlflowRun()
