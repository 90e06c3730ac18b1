"""Where the bytes of a log come from: a file, a pipe or standard input; plain, gzip or zstd; in any common encoding.

Files are read again on every call, so nothing is held in memory that a format does not ask for. ``lines`` runs in bounded memory
whatever the file is like.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

from sismo.errors import MalformedLog, UnrecognisedLog
from sismo.records.types import Note
from sismo.sources.bare import without_codes
from sismo.sources.base import Content, Sample

HEAD_BYTES = 64 * 1024
BLOCK_BYTES = 1024 * 1024
MAX_LINE_BYTES = 1024 * 1024
"""Longer lines are skipped and counted: no trainer prints a megabyte of metrics on one line."""
MAX_WHOLE_BYTES = 768 * 1024 * 1024
"""Formats that need the whole document at once refuse beyond this, rather than exhaust the machine."""

MAX_SPOOL_BYTES = 4 * 1024**3
"""More than this does not come through a pipe; what goes on for longer has no end."""
MAX_DEVICE_BYTES = 64 * 1024 * 1024
"""The same for a device such as ``/dev/zero``."""
ZSTD_PIECE = 1024
SALVAGE_PIECE = 64

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"'})


def without_blank_lines(text: str) -> str:
    """A text none of whose lines is empty."""
    while "\n\n" in text:
        text = text.replace("\n\n", "\n")
    return text


class UnreadableLog(UnrecognisedLog):
    """There is something, but its bytes cannot be had: no permission, damage, a disk that fails."""


class StreamContent(Content):
    """One input, opened as often as needed.

    Attributes:
        truncated: a compressed stream ended too early; what came before is used. damaged: it was broken in the middle; likewise.
        long_lines: lines skipped for their length. latin: blocks that were not UTF-8.
    """

    def __init__(self, label: str, path: Path | None, spool: BinaryIO | None = None) -> None:
        self.label, self.path = label, path
        self._spool = spool
        self.plain = spool is None and path is not None and not _compressed(path)
        self.truncated = False
        self.damaged = False
        self.long_lines = 0
        self.latin = False

    def _open(self) -> contextlib.AbstractContextManager[BinaryIO]:
        if self._spool is not None:
            self._spool.seek(0)
            return contextlib.nullcontext(self._spool)
        assert self.path is not None
        return contextlib.closing(cast(BinaryIO, open(self.path, "rb")))

    def blocks(self, size: int = BLOCK_BYTES) -> Iterator[bytes]:
        """The decompressed bytes in pieces. A broken end of a compressed stream ends it and sets ``truncated``."""
        with self._open() as raw:
            magic = raw.read(4)
            raw.seek(0)
            if magic.startswith(_GZIP):
                yield from self._inflated(raw, size)
            elif magic.startswith(_ZSTD):
                yield from self._unpacked(raw, size)
            else:
                while block := raw.read(size):
                    yield block

    def _inflated(self, raw: BinaryIO, size: int) -> Iterator[bytes]:
        import zlib

        stream = zlib.decompressobj(wbits=31)
        inside = False
        while chunk := raw.read(BLOCK_BYTES):
            while chunk:
                before = stream.copy()
                try:
                    block = stream.decompress(chunk, size)
                except zlib.error:
                    self.damaged = True
                    yield from _salvaged(before.decompress, chunk, zlib.error)
                    return
                if block:
                    yield block
                chunk, inside = stream.unconsumed_tail, True
                if stream.eof:
                    # Several gzip members in a row are one file, as `cat a.gz b.gz` makes them.
                    chunk, inside = stream.unused_data, False
                    stream = zlib.decompressobj(wbits=31)
                    if not chunk.startswith(_GZIP):
                        chunk = b""
        self.truncated |= inside

    def _unpacked(self, raw: BinaryIO, size: int) -> Iterator[bytes]:
        try:
            import zstandard
        except ImportError:
            yield from self._unpacked_by_arrow(raw, size)
            return
        start, stream = True, zstandard.ZstdDecompressor().decompressobj()
        # Small pieces: what a piece decodes is lost when the same piece is broken.
        rest = b""
        while piece := rest or raw.read(ZSTD_PIECE):
            try:
                block = stream.decompress(piece)
            except zstandard.ZstdError:
                # Bytes behind a whole frame that are no frame are padding, as with gzip.
                self.damaged |= not start or piece.startswith(_ZSTD)
                return
            rest, start = b"", False
            if stream.eof:
                rest, start = stream.unused_data, True
                stream = zstandard.ZstdDecompressor().decompressobj()
            for at in range(0, len(block), size):
                yield block[at : at + size]
        self.truncated |= not start

    def _unpacked_by_arrow(self, raw: BinaryIO, size: int) -> Iterator[bytes]:
        import pyarrow

        stream = cast(BinaryIO, pyarrow.CompressedInputStream(raw, "zstd"))
        while True:
            try:
                block = stream.read(size)
            except OSError:
                self.damaged = True
                return
            if not block:
                return
            yield block

    def head(self) -> bytes:
        """The first 64 KiB, decompressed."""
        found = b""
        with contextlib.closing(self.blocks(HEAD_BYTES)) as blocks:  # pyright: ignore[reportArgumentType] - a generator can be closed
            for block in blocks:
                found += block
                if len(found) >= HEAD_BYTES:
                    break
        return found[:HEAD_BYTES]

    def close(self) -> None:
        """Lets go of what was kept of a pipe; files are closed after every look."""
        if self._spool is not None:
            self._spool.close()

    def data(self) -> bytes:
        """All bytes. Raises ``MalformedLog`` when there are too many to hold."""
        pieces: list[bytes] = []
        total = 0
        for block in self.blocks(8 * BLOCK_BYTES):
            total += len(block)
            if total > MAX_WHOLE_BYTES:
                raise MalformedLog(self.label, f"one document of more than {MAX_WHOLE_BYTES >> 20} MiB; split it, or give a line-based log")
            pieces.append(block)
        return b"".join(pieces)

    def text(self) -> str:
        text, latin = decode(self.data())
        self.latin |= latin
        return without_blank_lines(text.replace("\r", "\n")) if "\r" in text else text

    def lines(self, *, coded: bool = False) -> Iterator[str]:
        """Non-empty lines, clean of line ends, ANSI codes and NULs. Lines beyond 1 MiB are counted in ``long_lines`` and skipped."""
        for text in self.texts(coded=coded):
            yield from filter(None, text.split("\n"))

    def texts(self, *, coded: bool = False) -> Iterator[str]:
        for block in self._whole_lines():
            text, latin = decode(block, coded=coded)
            self.latin |= latin
            text = text.replace("\r", "\n").strip("\n")
            if text:
                yield text

    def _whole_lines(self) -> Iterator[bytes]:
        """Blocks that end at a line end; inside a line that is too long everything is dropped up to its end."""
        rest = b""
        dropping = False
        wide = self.head()[:2] in (b"\xff\xfe", b"\xfe\xff") or _looks_wide(self.head())
        if wide:
            yield self.data()
            return
        for block in self.blocks():
            if dropping:
                ends = [at for at in (block.find(b"\n"), block.find(b"\r")) if at >= 0]
                if not ends:
                    continue
                block, dropping = block[min(ends) :], False
            cut = max(block.rfind(b"\n"), block.rfind(b"\r")) + 1
            if cut:
                yield rest + block[:cut]
                rest = block[cut:]
            else:
                rest += block
            if len(rest) > MAX_LINE_BYTES:
                rest, dropping = b"", True
                self.long_lines += 1
        if rest:
            yield rest

    def notes(self) -> list[Note]:
        """What had to be done to the bytes to read them."""
        found: list[Note] = []
        if self.damaged:
            found.append(Note("partial-log", "damaged compressed file; what came before the damage was read"))
        elif self.truncated:
            found.append(Note("partial-log", "the compressed file ends too early; what could be read was read"))
        if self.long_lines:
            found.append(
                Note("skipped-lines", "{count} {count:line|lines} longer than 1 MiB {count:was|were} skipped", {"count": self.long_lines})
            )
        if self.latin:
            found.append(Note("encoding", "parts of the file are not UTF-8 and were read as Latin-1"))
        return found


def _compressed(path: Path) -> bool:
    with open(path, "rb") as raw:
        return raw.read(4).startswith((_GZIP, _ZSTD))


def decode(data: bytes, *, coded: bool = False) -> tuple[str, bool]:
    """Bytes as text without NULs, and without ANSI codes unless they are to stay; and whether Latin-1 had to be assumed."""
    latin = False
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = data.decode("utf-16", errors="replace")
    elif _looks_wide(data[:4096]):
        text = data.decode("utf-16-le", errors="replace")
    else:
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            text, latin = data.decode("latin-1"), True
    if "\x00" in text:
        text = text.replace("\x00", "")
    if not coded:
        text = without_codes(text)
    if "\u2018" in text or "\u201c" in text:  # what a forum makes of the quotes of a pasted log
        text = text.translate(_QUOTES)
    return text.removeprefix("\ufeff"), latin


def _looks_wide(data: bytes) -> bool:
    """UTF-16 without its mark: most odd bytes are NUL and hardly any even one is."""
    if len(data) < 8:
        return False
    odd, even = data[1::2], data[::2]
    return odd.count(0) > 0.8 * len(odd) and even.count(0) < 0.1 * len(even)


def _salvaged(decompress: Callable[[bytes], bytes], chunk: bytes, broken: type[Exception]) -> Iterator[bytes]:
    """What decodes of a chunk that is broken somewhere: in small pieces, up to the one that is broken."""
    for at in range(0, len(chunk), SALVAGE_PIECE):
        try:
            block = decompress(chunk[at : at + SALVAGE_PIECE])
        except broken:
            return
        if block:
            yield block


def open_content(label: str) -> StreamContent:
    """The content behind a path or ``-``. Raises ``UnrecognisedLog`` when it cannot be opened; folders are not for here."""
    if label == "-":
        if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison] - closed by `<&-`
            raise UnreadableLog(label, "standard input is closed")
        return StreamContent(label, None, _spooled(label, sys.stdin.buffer))
    path = Path(label)
    try:
        if stat.S_ISREG(os.stat(path).st_mode):
            with open(path, "rb"):
                return StreamContent(label, path)
        with open(path, "rb") as pipe:
            return StreamContent(label, None, _spooled(label, pipe))
    except FileNotFoundError:
        raise UnrecognisedLog(label, "no such file or folder; check the path") from None
    except PermissionError:
        raise UnreadableLog(label, "permission denied; make it readable for this user") from None
    except OSError as error:
        raise UnreadableLog(label, f"cannot be opened ({error.strerror or error})") from None
    except ValueError:
        raise UnrecognisedLog(label, "no such file or folder; the path holds a NUL") from None


def _spooled(label: str, stream: BinaryIO) -> BinaryIO:
    """A pipe can be read only once and formats look twice: keep it, on disk beyond 64 MiB. Raises ``UnreadableLog`` when it has no end."""
    import tempfile

    limit = MAX_DEVICE_BYTES if _is_device(stream) else MAX_SPOOL_BYTES
    spool = tempfile.SpooledTemporaryFile(max_size=64 * BLOCK_BYTES)  # noqa: SIM115 - lives as long as its content
    total = 0
    try:
        while block := stream.read(BLOCK_BYTES):
            total += len(block)
            if total > limit:
                raise UnreadableLog(label, f"it goes on without end (more than {limit >> 20} MiB); give a log file")
            spool.write(block)
    except OSError as error:
        spool.close()
        raise UnreadableLog(label, f"cannot be read ({error.strerror or error})") from None
    except UnreadableLog:
        spool.close()
        raise
    return cast(BinaryIO, spool)


def _is_device(stream: BinaryIO) -> bool:
    try:
        mode = os.fstat(stream.fileno()).st_mode
    except (OSError, ValueError):
        return False
    return (stat.S_ISCHR(mode) and not stream.isatty()) or stat.S_ISBLK(mode)


def sample_of(content: StreamContent) -> Sample:
    """What the formats see of an input before it is read."""
    head = content.head()
    name = content.path.name.lower() if content.path else ""
    for suffix in (".gz", ".zst", ".zstd"):
        name = name.removesuffix(suffix)
    text = "" if is_binary(head) else without_blank_lines(decode(head)[0].replace("\r", "\n"))
    return Sample(name, head, False, content.path, text)


def is_binary(head: bytes) -> bool:
    """Whether these bytes are no text. A log may hold NULs (a sparse file after a crash) and a few stray bytes."""
    if not head:
        return False
    text, _ = decode(_without_cut_character(head))
    if not text:
        return True
    strange = sum(1 for char in text[:8192] if (char < " " and char not in "\n\r\t\b\f\x1b") or "\x7f" <= char < "\xa0")
    return strange > 0.05 * min(len(text), 8192)


def _without_cut_character(head: bytes) -> bytes:
    """Drops a UTF-8 character that the end of the head cuts in two; else the whole head would look like Latin-1."""
    for back in range(1, min(4, len(head)) + 1):
        byte = head[-back]
        if byte & 0xC0 == 0xC0:
            return head[:-back]
        if byte & 0xC0 != 0x80:
            break
    return head
