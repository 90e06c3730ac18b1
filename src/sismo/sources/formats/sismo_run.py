"""A run folder that sismo's own recorder wrote."""

from __future__ import annotations

from sismo.errors import MalformedLog, RunFormatError
from sismo.records.types import Run
from sismo.sources.base import Content, Format, Sample, Table


class SismoRun(Format):
    name = "sismo-run"
    about = "a run folder written by sismo.Recorder"

    def score(self, sample: Sample) -> int:
        if not sample.is_dir or sample.path is None or not (sample.path / "manifest.json").is_file():
            return 0
        return 100 if (sample.path / "metrics").is_dir() or (sample.path / "events.jsonl").is_file() else 0

    def read(self, content: Content) -> list[Table | Run]:
        from sismo.records.reader import read_run

        if content.path is None:
            raise MalformedLog(content.label, "a run is a folder")
        try:
            return [read_run(content.path)]
        except RunFormatError as error:
            raise MalformedLog(content.label, str(error)) from error


FORMAT = SismoRun()
