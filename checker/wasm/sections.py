"""A WebAssembly module from the one object that LLVM emits.

An object is a module already: where there is only one, its indices of functions and types are final. What a linker would add
is little: memory, table and stack of its own instead of imported ones, and names for what is called from outside.

Source: the WebAssembly core specification, "Binary Format" and, of 64-bit addresses, the memory64 extension; of objects, the
tool conventions, "Linking" (the symbol table is subsection 8 of the section named linking).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acked.base.errors import SystemFailure

STACK_BYTES = 1 << 18
PAGE_BYTES = 1 << 16

_CUSTOM, _TYPES, _IMPORTS, _FUNCTIONS, _TABLES, _MEMORIES, _GLOBALS, _EXPORTS = range(8)
_ELEMENTS, _CODE, _DATA, _DATA_COUNT = 9, 10, 11, 12
_SYMBOLS = 8
_MAGIC = b"\0asm\1\0\0\0"
_FUNCREF, _MUTABLE, _END = b"\x70", b"\1", b"\x0b"
_IS_FUNCTION, _IS_TABLE, _IS_MEMORY, _IS_GLOBAL = range(4)
_UNDEFINED, _EXPLICIT_NAME = 0x10, 0x40


class _Reader:
    """Numbers and pieces of a binary text, one after the other."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    @property
    def is_at_end(self) -> bool:
        return self.at >= len(self.data)

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def number(self) -> int:
        """An unsigned LEB128 number; of a signed one that is not negative the same."""
        value = shift = 0
        while True:
            part = self.byte()
            value |= (part & 127) << shift
            shift += 7
            if part < 128:
                return value

    def piece(self) -> bytes:
        """As many bytes as the number before them says."""
        size = self.number()
        self.at += size
        return self.data[self.at - size : self.at]


def module_of(linkable: bytes, bits: int, exported: Sequence[str], called: Sequence[str]) -> bytes:
    """The module of an object for `bits`-bit addresses.

    It exports the functions `exported` by their names, its memory, its table, in which the functions `called` stand from
    index 1 on, and as `heap` the pointer of its stack, whose first value is the first address that nothing uses.
    """
    sections = dict(_sections(linkable))
    numbers = _function_numbers(sections)
    heap = -(-_data_end(sections) // 64) * 64 + STACK_BYTES
    limits = b"\4" if bits == 64 else b"\0"
    constant = b"\x42" if bits == 64 else b"\x41"
    exports = [(name, _IS_FUNCTION, numbers[name]) for name in exported]
    exports += [("memory", _IS_MEMORY, 0), ("table", _IS_TABLE, 0), ("heap", _IS_GLOBAL, 0)]
    pages = -(-heap // PAGE_BYTES)
    added = {
        _TABLES: _vector([_FUNCREF + limits + _unsigned(len(called) + 1)]),
        _MEMORIES: _vector([limits + _unsigned(pages)]),
        _GLOBALS: _vector([(b"\x7e" if bits == 64 else b"\x7f") + _MUTABLE + constant + _signed(heap) + _END]),
        _EXPORTS: _vector([_named(name) + bytes([kind]) + _unsigned(number) for name, kind, number in exports]),
        _ELEMENTS: _vector([b"\0" + constant + b"\1" + _END + _vector([_unsigned(numbers[name]) for name in called])]),
    }
    kept = {kind: sections[kind] for kind in (_TYPES, _FUNCTIONS, _DATA_COUNT, _CODE, _DATA) if kind in sections}
    order = (_TYPES, _FUNCTIONS, _TABLES, _MEMORIES, _GLOBALS, _EXPORTS, _ELEMENTS, _DATA_COUNT, _CODE, _DATA)
    whole = {**kept, **added}
    return _MAGIC + b"".join(bytes([kind]) + _sized(whole[kind]) for kind in order if kind in whole)


def _sections(module: bytes) -> Iterator[tuple[int | str, bytes]]:
    """The sections of a module, those of its own by number and the custom ones by name."""
    reader = _Reader(module)
    reader.at = len(_MAGIC)
    while not reader.is_at_end:
        kind, content = reader.byte(), reader.piece()
        if kind != _CUSTOM:
            yield kind, content
        else:
            inner = _Reader(content)
            name = inner.piece().decode()
            yield name, content[inner.at :]


def _function_numbers(sections: dict[int | str, bytes]) -> dict[str, int]:
    """The functions of an object by name; `SystemFailure` if it calls one that it does not have."""
    reader = _Reader(sections["linking"])
    reader.number()  # the version of the conventions
    numbers: dict[str, int] = {}
    while not reader.is_at_end:
        kind, content = reader.byte(), reader.piece()
        if kind == _SYMBOLS:
            numbers |= _functions_among(_Reader(content))
    return numbers


def _functions_among(symbols: _Reader) -> dict[str, int]:
    numbers = {}
    for _ in range(symbols.number()):
        kind, flags = symbols.byte(), symbols.number()
        is_named = not flags & _UNDEFINED or flags & _EXPLICIT_NAME
        if kind == 0:
            number = symbols.number()
            if flags & _UNDEFINED:
                raise SystemFailure(
                    "LLVM calls a function of its runtime that the WebAssembly module does not have; please report this with "
                    "the spec and the version of llvmlite"
                )
            numbers[symbols.piece().decode()] = number
        elif kind == 1:  # data: a name, and if it is defined its segment, offset and size
            symbols.piece()
            if not flags & _UNDEFINED:
                for _ in range(3):
                    symbols.number()
        elif kind == 3:  # a section
            symbols.number()
        else:  # a global, a tag, a table
            symbols.number()
            if is_named:
                symbols.piece()
    return numbers


def _data_end(sections: dict[int | str, bytes]) -> int:
    """The address behind the last segment of data."""
    if _DATA not in sections:
        return 0
    reader, end = _Reader(sections[_DATA]), 0
    for _ in range(reader.number()):
        reader.number()  # 0: a segment of the first memory
        reader.byte()  # a constant
        begin = reader.number()
        reader.byte()  # its end
        end = max(end, begin + len(reader.piece()))
    return end


def _unsigned(value: int) -> bytes:
    parts = []
    while True:
        part = value & 127
        value >>= 7
        parts.append(part | (128 if value else 0))
        if not value:
            return bytes(parts)


def _signed(value: int) -> bytes:
    """A number that is not negative, where a signed one is expected: its highest bit must not be the sign."""
    parts = _unsigned(value)
    return parts if not parts[-1] & 64 else bytes([*parts[:-1], parts[-1] | 128, 0])


def _sized(content: bytes) -> bytes:
    return _unsigned(len(content)) + content


def _named(name: str) -> bytes:
    return _sized(name.encode())


def _vector(items: Sequence[bytes]) -> bytes:
    return _unsigned(len(items)) + b"".join(items)
