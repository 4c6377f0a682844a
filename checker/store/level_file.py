"""Level files: the states of one level, or of one worker's part of it, with checksums.

`StateCodec`, which turns packed states into such files and back in native code, for any number of workers, and `LevelWriter`,
which writes one block by block.

A file is a sequence of blocks of at most `BLOCK_STATES` states. A block has a header, little-endian: magic bytes, then 32-bit
numbers: the level, the number of buckets, bytes per record, words per state, states in the block; what its kind adds; and the
CRC-32 of everything before it. So no bit can turn without being noticed. There are two kinds of blocks:

*Grouped*: the records of bucket 0, of bucket 1, and so on (`loops/exchange.py` defines a record). The header adds: per
bucket its states; per bucket the CRC-32 of its records. The owner of some of the buckets reads and checks only those.

*Packed*: the states in the order in which they were found, each as the bytes in which it differs from the one before it
(`pack_states` in `loops/exchange.py`). The header adds how many bytes these are, and their CRC-32. That is about half of
the bytes, and of the time to write them; what looks for some buckets only must read all.
"""

from __future__ import annotations

import ctypes
import os
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import RawIOBase
from pathlib import Path
from typing import BinaryIO

from acked.base.errors import SystemFailure
from acked.base.files import open_file
from acked.base.frozen import frozen
from acked.checker.loops import exchange
from acked.checker.native.compile import Kernel, ObjectCode, compile_functions
from acked.checker.native.machine import processor
from acked.checker.native.shape import Shape
from acked.checker.shards.shard import address, numbers, reserve

Numbers = ctypes.Array[ctypes.c_uint64]

MAGIC = b"acked-lv"
PACKED = b"acked-lp"
BLOCK_STATES = 1 << 17
"""States of a block: its records stay in the second-level cache while they are grouped."""
MAX_BUCKETS = 1 << 15

_FIXED = struct.Struct("<8s5I")
_CRC = struct.Struct("<I")
_BODY = struct.Struct("<2I")
ALL_BITS = (1 << 64) - 1
SLACK = 64
"""Bytes behind packed states that may be read or written, though nothing stands there."""


class DamagedFile(SystemFailure):
    """A file of a run directory is not what was written."""


@frozen
class LevelFile:
    """A finished level file; `digest` is the CRC-32 of its headers, see `digest_with`."""

    name: str
    states: int
    size: int
    digest: int


@frozen
class _Header:
    """The header of a block: its states, and of each part of its body the records (of a packed one the bytes) and the CRC."""

    raw: bytes
    states: int
    is_packed: bool
    counts: Sequence[int]
    sums: Sequence[int]


@frozen
class Records:
    """Records of neighbouring buckets as they stand in a file."""

    count: int
    data: bytes


def constants_of(shape: Shape) -> dict[str, int]:
    """The literals that `loops/exchange.py` is compiled with."""
    widths = [(bits + 7) // 8 for bits in shape.word_bits]
    return {
        "W": shape.words,
        "WIDTHS": sum(width << 4 * w for w, width in enumerate(widths)),
        "RECORD": sum(widths),
        "ACTION_BYTES": 1 if shape.actions <= 1 << 8 else 2,
    }


def exchange_code(shape: Shape) -> ObjectCode:
    """Object code of `loops/exchange.py` for states of this shape."""
    return ObjectCode(processor(), (compile_functions(exchange.FUNCTIONS, constants_of(shape)),))


class StateCodec:
    """Writes and reads level files for states of one shape. Not for two threads at once: it owns scratch memory."""

    def __init__(self, shape: Shape, buckets: int, native: Kernel) -> None:
        constants = constants_of(shape)
        self.words = shape.words
        self.buckets = buckets
        self.record = constants["RECORD"]
        self.native = native
        self._numbers = reserve(BLOCK_STATES // 4)
        self._counts = numbers([0] * buckets)
        self._records = reserve((BLOCK_STATES * (self.record + shape.words) + SLACK) // 8)
        self._bytes = (ctypes.c_char * ctypes.sizeof(self._records)).from_buffer(self._records)
        self._count = native.function("count_buckets", 6)
        self._group = native.function("group", 5)
        self._pack = native.function("pack_states", 4)
        self._unpack = native.function("unpack_states", 5)
        self._read = native.function("read_records", 3)
        self._write = native.function("write_records", 3)
        self._keep = native.function("keep_wanted", 5)
        self._zero = numbers([0] * self.words)
        self._unpacked = reserve(BLOCK_STATES * self.words)
        self._hash = native.function("hash_state", 1)
        self.deal_by([ALL_BITS] * shape.words)

    def deal_by(self, masks: Sequence[int]) -> None:
        """Has these bits of a state's words say into which bucket it belongs, instead of all."""
        self.steady = numbers([*masks, *[0] * self.words])

    def adopt(self, layout: str) -> None:
        """Deals states as the layout of a run says, if that is for such states."""
        masks = layout.split()[3:]
        if len(masks) == self.words:
            self.deal_by([int(mask, 16) for mask in masks])

    @property
    def fingerprint(self) -> str:
        """Says how states are laid out in files and dealt to buckets; files of another layout cannot be read."""
        samples = [numbers([k * 0x9E3779B97F4A7C15 % (1 << 64)] * self.words) for k in range(3)]
        hashes = [self._hash(address(sample)) & (1 << 64) - 1 for sample in samples]
        masks = self.steady[: self.words]
        dealt = [] if masks == [ALL_BITS] * self.words else [f"{mask:x}" for mask in masks]
        return " ".join([str(self.words), str(self.record), f"{zlib.crc32(repr(hashes).encode()):08x}", *dealt])

    # -- writing ----------------------------------------------------------------------------------------------------

    def write(
        self, path: Path, level: int, pieces: Iterable[tuple[int, int]], elsewhere: RawIOBase | None = None
    ) -> LevelFile:
        """Writes states, grouped, of which each piece says the address and how many stand there; see `LevelWriter`."""
        file = LevelWriter(path, level, packs=False, elsewhere=elsewhere)
        for states, count in pieces:
            for begin in range(0, count, BLOCK_STATES):
                file.add(self, states + 8 * self.words * begin, min(BLOCK_STATES, count - begin))
        return file.close()

    def pack(self, level: int, states: int, n: int) -> tuple[bytes, memoryview]:
        """A packed block of n states: its header, and its body, which is there until the next call."""
        size = self._pack(address(self._zero), states, n, address(self._records))
        body = memoryview(self._bytes).cast("B")[:size]
        header = _FIXED.pack(PACKED, level, self.buckets, self.record, self.words, n) + _BODY.pack(size, zlib.crc32(body))
        return header + _CRC.pack(zlib.crc32(header)), body

    def group(self, level: int, states: int, n: int) -> tuple[bytes, memoryview]:
        """A grouped block of n states: its header, and its body, which is there until the next call."""
        ctypes.memset(self._counts, 0, ctypes.sizeof(self._counts))
        self._count(states, n, address(self.steady), self.buckets, address(self._numbers), address(self._counts))
        counts = list(self._counts)
        places, at = [], 0
        for count in counts:
            places.append(at)
            at += count * self.record
        cursors = numbers(places)  # kept in a variable: an address does not keep its array alive
        self._group(states, n, address(self._numbers), address(cursors), address(self._records))
        body = memoryview(self._bytes).cast("B")[:at]
        sums = [zlib.crc32(body[place : place + count * self.record]) for place, count in zip(places, counts, strict=True)]
        header = _FIXED.pack(MAGIC, level, self.buckets, self.record, self.words, n)
        header += struct.pack(f"<{2 * self.buckets}I", *counts, *sums)
        return header + _CRC.pack(zlib.crc32(header)), body

    # -- reading ----------------------------------------------------------------------------------------------------

    def read(
        self,
        path: Path,
        level: int,
        expected: LevelFile,
        wanted: Sequence[bool] | None = None,
        turns: Iterator[bool] | None = None,
        file: BinaryIO | None = None,
    ) -> Iterator[Records]:
        """The records of the wanted buckets (all if None), in runs; `DamagedFile` if anything is not as it was written.

        Only of the blocks that the reader has the turn to read, if several share the work. `file` is open already, if this
        machine does not see the path.
        """
        try:
            with open_file(path) if file is None else file as file:
                if file.seek(0, os.SEEK_END) != expected.size:
                    raise damage_of(path, "has another length than was written")
                file.seek(0)
                digest = states = 0
                while states < expected.states:
                    header = self._header(path, file, level)
                    digest = digest_with(header.raw, digest)
                    states += header.states
                    if turns is not None and not next(turns):
                        file.seek(sum(header.counts) * (1 if header.is_packed else self.record), os.SEEK_CUR)
                    elif header.is_packed:
                        records = self._packed_records(path, file, header, wanted)
                        if records.count:
                            yield records
                    else:
                        yield from self._runs(path, file, header.counts, header.sums, wanted)
        except FileNotFoundError:
            raise damage_of(path, "is missing") from None
        except OSError as error:
            raise SystemFailure(f"cannot read {path}: {error.strerror}; check the disk, or start a new search") from None
        if digest != expected.digest or states != expected.states:
            raise damage_of(path, "is a level file, but not the one that was written")

    def _header(self, path: Path, file: BinaryIO, level: int) -> _Header:
        raw = file.read(_FIXED.size)
        is_packed = raw.startswith(PACKED)
        parts = 1 if is_packed else self.buckets
        raw += file.read(8 * parts + _CRC.size)
        length = _FIXED.size + 8 * parts
        if len(raw) < length + _CRC.size or zlib.crc32(raw[:length]) != _CRC.unpack(raw[length:])[0]:
            raise damage_of(path, "is damaged: the checksum of a header does not match")
        magic, *facts, states = _FIXED.unpack_from(raw)
        if magic not in (MAGIC, PACKED) or facts != [level, self.buckets, self.record, self.words]:
            raise damage_of(path, "is a level file, but not of this level and layout")
        listed = struct.unpack_from(f"<{2 * parts}I", raw, _FIXED.size)
        header = _Header(raw, states, is_packed, listed[:parts], listed[parts:])
        most = states * (self.record + self.words)
        if states > BLOCK_STATES or (header.counts[0] > most if is_packed else sum(header.counts) != states):
            raise damage_of(path, "is damaged: its counts do not add up")
        return header

    def _packed_records(self, path: Path, file: BinaryIO, header: _Header, wanted: Sequence[bool] | None) -> Records:
        (size,), (checksum,), count = header.counts, header.sums, header.states
        body = memoryview(self._bytes).cast("B")[:size]
        if file.readinto(body) != size or zlib.crc32(body) != checksum:  # type: ignore[attr-defined]
            raise damage_of(path, "is damaged: the checksum of its states does not match")
        states, records = address(self._unpacked), address(self._records)
        if self._unpack(records, size, address(self._zero), count, states) != size:
            raise damage_of(path, "is damaged: its states do not add up")
        if wanted is not None:
            chosen = bytes(wanted)  # kept in a variable: an address does not keep its bytes alive
            count = self._keep(states, count, address(self.steady), self.buckets, bytes_address(chosen))
        self._write(states, count, records)
        return Records(count, memoryview(self._bytes).cast("B")[: count * self.record].tobytes())

    def _runs(
        self, path: Path, file: BinaryIO, counts: Sequence[int], sums: Sequence[int], wanted: Sequence[bool] | None
    ) -> Iterator[Records]:
        bucket = 0
        while bucket < self.buckets:
            is_wanted, first = wanted is None or wanted[bucket], bucket
            while bucket < self.buckets and (wanted is None or wanted[bucket]) == is_wanted:
                bucket += 1
            count = sum(counts[first:bucket])
            if not is_wanted:
                file.seek(count * self.record, os.SEEK_CUR)
                continue
            data = file.read(count * self.record)
            view, at = memoryview(data), 0
            for number in range(first, bucket):
                end = at + counts[number] * self.record
                if zlib.crc32(view[at:end]) != sums[number]:
                    raise damage_of(path, "is damaged: the checksum of its states does not match")
                at = end
            if count:
                yield Records(count, data)

    def unpack(self, records: Records) -> Numbers:
        """The states of some records, as words."""
        states = numbers_like(records.count * self.words)
        self.unpack_to(records, address(states))
        return states

    def unpack_to(self, records: Records, states: int) -> None:
        """Writes the states of some records to an address."""
        self._read(bytes_address(records.data), records.count, states)


class LevelWriter:
    """Writes one level file, by packed or grouped blocks, under a temporary name until `close`; for one thread at a time.

    If anything fails, the file is gone, and `SystemFailure` says why. Where this machine does not see the path, the bytes go
    elsewhere.
    """

    def __init__(self, path: Path, level: int, packs: bool, elsewhere: RawIOBase | None = None) -> None:
        self._path, self._level, self._packs = path, level, packs
        self._temporary = None if elsewhere else path.with_name(f".{path.name}.part")
        self._states = self._size = self._digest = 0
        with self._removed_if_it_fails():
            self._file = elsewhere or open(self._temporary or path, "wb", buffering=0)  # noqa: SIM115  (held until `close`)

    def add(self, codec: StateCodec, states: int, count: int) -> None:
        """Adds a block of `count` states, at most `BLOCK_STATES`, that stand at the address `states`."""
        header, body = (codec.pack if self._packs else codec.group)(self._level, states, count)
        with self._removed_if_it_fails():
            self._size += write_all(self._file, [header, body])
        self._digest = digest_with(header, self._digest)
        self._states += count

    def close(self) -> LevelFile:
        """The finished file, under its name."""
        with self._removed_if_it_fails():
            self._file.close()
            if self._temporary is not None:
                os.replace(self._temporary, self._path)
        return LevelFile(self._path.name, self._states, self._size, self._digest)

    @contextmanager
    def _removed_if_it_fails(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            try:
                if self._temporary is not None:
                    os.unlink(self._temporary)
            except OSError:
                pass  # The first error tells more.
            raise cannot_write(self._path, error) from None


def digest_with(header: bytes, digest: int) -> int:
    """The digest of a file with one more block.

    A header followed by its own CRC-32 has the same CRC-32 as any other, so that of a packed block is left out. For grouped
    ones, as they have always been written, the digest only tells how many blocks there are.
    """
    return zlib.crc32(header[: -_CRC.size] if header.startswith(PACKED) else header, digest)


def numbers_like(count: int) -> Numbers:
    """Zeros, as many as asked for."""
    return (ctypes.c_uint64 * max(count, 1))()


def bytes_address(data: bytes) -> int:
    """Where the bytes of an object are, for as long as it lives."""
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0


def write_all(file: BinaryIO | RawIOBase, parts: Sequence[bytes | memoryview]) -> int:
    """Writes everything (one call may write less than it was given); returns the number of bytes."""
    total = 0
    for part in parts:
        view = memoryview(part)
        while len(view):
            written = file.write(view)
            view = view[written:]
            total += written
    return total


def damage_of(path: Path, what: str) -> DamagedFile:
    """The sentence about a file that cannot be trusted."""
    return DamagedFile(f"{path} {what}; this run cannot be resumed; start over in another folder")


def cannot_write(path: Path, error: OSError) -> SystemFailure:
    """The sentence about a file that cannot be written."""
    return SystemFailure(f"cannot write {path}: {error.strerror}; make room, or choose another folder")
