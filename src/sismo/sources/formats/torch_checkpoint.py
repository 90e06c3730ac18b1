"""The history that a PyTorch checkpoint carries, where it is plain: ``{"history": {"train_loss": [...]}, "epoch": 3, "model": ...}``.

It is unpickled without PyTorch, and nothing in it can run: whatever is neither a number, a text nor a container becomes nothing.
"""

from __future__ import annotations

import io
import itertools
import pickle
import struct
import zipfile
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from typing import cast

from sismo.errors import MalformedLog
from sismo.records.types import Run
from sismo.sources.base import Content, Format, Sample, Table
from sismo.sources.document import fill
from sismo.sources.rows import RowBuilder

_ZIP = b"PK\x03\x04"
_PICKLE = "data.pkl"
MAX_BYTES = 256 * 1024 * 1024
"""The weights lie beside the pickle; one that is larger than this holds something else."""
MAX_VALUES = 2_000_000
"""Values that a history may have: a pickle of a few lines can name one list in itself again and again, to any size."""
_PLAIN = (int, float, str, bool)
_BROKEN = (
    zipfile.BadZipFile, pickle.UnpicklingError, struct.error, ValueError, LookupError, EOFError, TypeError, AttributeError, StopIteration,
)  # fmt: skip
_OPTIMIZER = "param_groups"


class TorchCheckpoint(Format):
    name = "torch-checkpoint"
    about = "a PyTorch checkpoint with a plain history of its own"

    def score(self, sample: Sample) -> int:
        return 95 if sample.head.startswith(_ZIP) and _PICKLE.encode() in sample.head[:4096] else 0

    def read(self, content: Content) -> list[Table | Run]:
        builder = RowBuilder(self.name)
        try:
            document = _plain(_unpickled(content), itertools.count())
            fill(builder, document)
        except _BROKEN as error:
            raise MalformedLog(content.label, f"a PyTorch checkpoint that cannot be unpickled ({type(error).__name__})") from None
        except (RecursionError, MemoryError):
            raise MalformedLog(content.label, "a PyTorch checkpoint that is nested too deep") from None
        if builder.n_rows < 2:
            raise MalformedLog(content.label, "a PyTorch checkpoint without a plain history; give the log of its run")
        return [builder.table()]


class _Nothing:
    """Stands for every object that is not plain: a tensor, an optimizer, a class of somebody's project."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def __setstate__(self, _: object) -> None:
        pass

    def append(self, _: object) -> None:
        """As a list inside a pickle is filled."""

    def extend(self, _: object) -> None:
        """Likewise."""

    def __setitem__(self, _: object, __: object) -> None:
        pass


class _Kind(_Nothing):
    """The type of numpy's numbers, by the letters that it is pickled with."""

    def __init__(self, letters: object = "", *_: object) -> None:
        self.form = _FORMS.get(str(letters))


def _scalar(kind: object = None, raw: object = b"", *_: object) -> object:
    """One of numpy's numbers, which people append where they mean to append a float."""
    form = kind.form if isinstance(kind, _Kind) else None
    return struct.unpack(form, raw)[0] if form is not None and isinstance(raw, bytes) else None


def _bytes(text: object = "", *_: object) -> object:
    """Bytes, as the protocol of PyTorch's pickles writes them."""
    return text.encode("latin-1") if isinstance(text, str) else None


_FORMS = {"f8": "<d", "f4": "<f", "i8": "<q", "i4": "<i"}
_KNOWN: dict[tuple[str, str], Callable[..., object]] = {
    ("collections", "OrderedDict"): OrderedDict,
    ("collections", "defaultdict"): defaultdict,
    ("_codecs", "encode"): _bytes,
    ("numpy", "dtype"): _Kind,
    ("numpy.core.multiarray", "scalar"): _scalar,
    ("numpy._core.multiarray", "scalar"): _scalar,
}


class _Inert(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str, /) -> Callable[..., object]:
        return _KNOWN.get((module_name, global_name), _Nothing)

    def persistent_load(self, pid: object) -> object:
        return None


def _unpickled(content: Content) -> object:
    with zipfile.ZipFile(content.path if content.path is not None and content.plain else io.BytesIO(content.data())) as archive:
        inside = next(info for info in archive.infolist() if info.filename.endswith(f"/{_PICKLE}"))
        if inside.file_size > MAX_BYTES:
            raise ValueError(inside.filename)
        return _Inert(io.BytesIO(archive.read(inside))).load()


def _plain(value: object, seen: Iterator[int]) -> object:
    """The value with only what JSON could hold; the weights are objects whose values are all nothing, and go, as the optimizer does."""
    if next(seen) > MAX_VALUES:
        raise ValueError("too many values")
    if isinstance(value, dict) and _OPTIMIZER in value:
        return None
    if isinstance(value, dict):
        pairs = ((str(key), _plain(inner, seen)) for key, inner in cast("dict[object, object]", value).items())
        return {key: inner for key, inner in pairs if inner is not None} or None
    if isinstance(value, list | tuple):
        return [_plain(inner, seen) for inner in cast("list[object]", value)]
    return value if isinstance(value, _PLAIN) else None


FORMAT = TorchCheckpoint()
