"""Loads object files into this process without LLVM, whose library takes longer to load than most questions to answer.

Of what a file can ask of a linker our code asks little: addresses within it, of functions of the other files, and of C's
library. `link` does nothing where one asks for more, or is not made for x86-64 and ELF; LLVM's loader is there for those.
Relocations are as in section 4.4 of the System V Application Binary Interface, AMD64 Architecture Processor Supplement.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from acked.base.frozen import frozen

_ELF_X86_64 = b"\x7fELF\x02\x01"
_MACHINE = 62
_PROGBITS, _SYMTAB, _RELA, _NOBITS = 1, 2, 4, 8
_WRITES, _ALLOCATED = 1, 2
_NOWHERE = 0
"""The section of a symbol that another file defines."""
_GLOBAL = 1
_ALIGNED = 64

# By kind of relocation: how many bits it writes, and what of: the symbol, the entry of the symbol's address, or the table of
# such entries; and what is subtracted: nothing, the place itself, or the table.
_SYMBOL, _ENTRY, _TABLE = "symbol", "entry", "table"
_KINDS: Mapping[int, tuple[int, str, str]] = {
    1: (64, _SYMBOL, ""),
    2: (32, _SYMBOL, "place"),
    4: (32, _SYMBOL, "place"),
    9: (32, _ENTRY, "place"),
    24: (64, _SYMBOL, "place"),
    25: (64, _SYMBOL, "table"),
    26: (32, _TABLE, "place"),
    27: (64, _ENTRY, "table"),
    29: (64, _TABLE, "place"),
    41: (32, _ENTRY, "place"),
    42: (32, _ENTRY, "place"),
}


class _Beyond(Exception):
    """A file asks for something that is not done here."""


@frozen
class _Section:
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int


@frozen
class _Symbol:
    name: str
    section: int
    value: int
    is_global: bool


@dataclass
class _Object:
    """An object file, and where its sections are put."""

    data: bytes
    begins: dict[int, int] = field(default_factory=dict)
    """By number of a section: where it begins, in bytes from the beginning of all files."""
    table: int = 0
    """Where its table of addresses begins."""
    entries: dict[_Symbol, int] = field(default_factory=dict)

    @cached_property
    def sections(self) -> list[_Section]:
        """All of them, by number."""
        if not self.data.startswith(_ELF_X86_64) or struct.unpack_from("<H", self.data, 18)[0] != _MACHINE:
            raise _Beyond
        [first] = struct.unpack_from("<Q", self.data, 40)
        size, count = struct.unpack_from("<HH", self.data, 58)
        found = []
        for at in range(count):
            _, kind, flags, _, offset, length, link, info, alignment, _ = struct.unpack_from(
                "<IIQQQQIIQQ", self.data, first + at * size
            )
            found.append(_Section(kind, flags, offset, length, link, info, max(alignment, 1)))
        return found

    @cached_property
    def symbols(self) -> list[_Symbol]:
        """All of them, by number."""
        tables = [section for section in self.sections if section.kind == _SYMTAB]
        if len(tables) != 1:
            raise _Beyond
        texts = self.sections[tables[0].link].offset
        found = []
        for name, info, _, section, value, _ in struct.iter_unpack("<IBBHQQ", self.content(tables[0])):
            end = self.data.index(b"\0", texts + name)
            found.append(_Symbol(self.data[texts + name : end].decode(), section, value, info >> 4 >= _GLOBAL))
        return found

    def content(self, section: _Section) -> bytes:
        """What is in a section."""
        return self.data[section.offset : section.offset + section.size]

    def place(self, at: int) -> int:
        """Gives sections places from `at` on, and says where they end. What unwinds the stack is not needed."""
        for number, section in enumerate(self.sections):
            if section.flags & _ALLOCATED and section.size and section.kind in (_PROGBITS, _NOBITS):
                if section.kind == _NOBITS or section.flags & _WRITES:
                    raise _Beyond
                at = -(-at // section.alignment) * section.alignment
                self.begins[number] = at
                at += section.size
        self.table = -(-at // 8) * 8
        for _, kind, symbol, _ in self.relocations():
            if kind not in _KINDS:
                raise _Beyond
            if _KINDS[kind][1] == _ENTRY:
                self.entries.setdefault(symbol, 8 * len(self.entries))
        return self.table + 8 * len(self.entries)

    def relocations(self) -> Iterator[tuple[int, int, _Symbol, int]]:
        """Of what is placed: the place, the kind, the symbol and the number to add."""
        for section in self.sections:
            if section.kind == _RELA and section.info in self.begins:
                for offset, info, addend in struct.iter_unpack("<QQq", self.content(section)):
                    yield self.begins[section.info] + offset, info & 0xFFFFFFFF, self.symbols[info >> 32], addend

    def defined(self) -> Iterator[tuple[str, int]]:
        """The names that other files know, and where they stand."""
        for symbol in self.symbols:
            if symbol.is_global and symbol.section in self.begins:
                yield symbol.name, self.begins[symbol.section] + symbol.value


class Linked:
    """Object files in memory, ready to run."""

    def __init__(self, memory: mmap.mmap, begin: int, names: Mapping[str, int]) -> None:
        self._memory = memory  # which is given back with the last function
        self._begin = begin
        self._names = names

    def get_function_address(self, name: str) -> int:
        """Where a function is; 0 if there is none, as LLVM's loader says it."""
        return self._begin + self._names[name] if name in self._names else 0


def link(objects: Sequence[bytes]) -> Linked | None:
    """The files in memory; None if they ask for more than is done here, or the system allows no code to be written."""
    try:
        return _link([_Object(data) for data in objects])
    except (_Beyond, OSError, ValueError, IndexError, KeyError, AttributeError, struct.error):
        return None


def _link(files: Sequence[_Object]) -> Linked:
    size = 0
    for file in files:
        size = file.place(-(-size // _ALIGNED) * _ALIGNED)
    names = {name: place for file in files for name, place in file.defined()}
    memory = mmap.mmap(-1, max(size, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    begin = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for file in files:
        for number, at in file.begins.items():
            section = file.sections[number]
            memory[at : at + section.size] = file.content(section)
        _relocate(file, memory, begin, names)
    library = ctypes.CDLL(None, use_errno=True)
    length = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
    code = ctypes.c_int(mmap.PROT_READ | mmap.PROT_EXEC)
    if library.mprotect(ctypes.c_void_p(begin), ctypes.c_size_t(length), code):
        raise OSError(ctypes.get_errno(), "no code may be written here")
    return Linked(memory, begin, names)


def _relocate(file: _Object, memory: mmap.mmap, begin: int, names: Mapping[str, int]) -> None:
    for at, kind, symbol, addend in file.relocations():
        bits, meant, less = _KINDS[kind]
        if meant == _TABLE:
            target = begin + file.table
        elif meant == _ENTRY:
            target = begin + file.table + file.entries[symbol]
            struct.pack_into("<Q", memory, target - begin, _address(symbol, file, begin, names))
        else:
            target = _address(symbol, file, begin, names)
        target += addend - {"": 0, "place": begin + at, "table": begin + file.table}[less]
        if bits == 32:
            struct.pack_into("<i", memory, at, target)  # one that is too far away is an error
        else:
            struct.pack_into("<Q", memory, at, target & 0xFFFFFFFFFFFFFFFF)


def _address(symbol: _Symbol, file: _Object, begin: int, names: Mapping[str, int]) -> int:
    if symbol.section in file.begins:
        return begin + file.begins[symbol.section] + symbol.value
    if symbol.section != _NOWHERE:
        raise _Beyond
    if symbol.name in names:
        return begin + names[symbol.name]
    return ctypes.cast(getattr(ctypes.CDLL(None), symbol.name), ctypes.c_void_p).value or 0
