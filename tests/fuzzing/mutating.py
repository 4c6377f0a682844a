"""Inputs that are nearly right: what was recorded, changed at random places, the same for the same seed.

Bytes are cut, repeated, exchanged and mixed with those of other inputs, and numbers take values at which readers fall; of
JSON documents whole values change, so that what comes out still is JSON.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Sequence
from typing import Any

MOST_BYTES, MOST_OF_A_FEW = 40_000, 400_000
"""Larger inputs are cut, so that there can be many. A few are larger, for what takes time by more than their size."""

NUMBERS = (
    b"0", b"1", b"-1", b"-2", b"00", b"255", b"32768", b"2147483647", b"2147483648", b"-2147483649", b"4294967296",
    b"9223372036854775807", b"9223372036854775808", b"9" * 20, b"9" * 400, b"7" * 5_000, b"1e400", b"1e-7", b"1_000", b"0x10",
    b"NaN", b"Infinity", b"-Infinity", b"1.5", "\u0663".encode(), "\u00b2".encode(),
)  # fmt: skip
STRANGE = (
    b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xc0\xaf", "\u2028".encode(), "\u202e".encode(), b"\x1b[31m",
    b"\r", b"\n", b"\t", b"\\", b"\\\n", b"\\u", b"\\ud800", b"'", b'"', b"`", b"$", b"${", b"${x:-", b"%s", b"{{", b"}}",
    b"{", b"[", b"]", b"(", b")", b":", b"=", b",", b"&a", b"*a", b"<<: *a", b"!!python/object/apply:os.system", b"---\n",
    b"#", b" ", b"|", b">", b"!", b"@", b"../../etc/passwd", b"a=\\\n", b"<![CDATA[",
)  # fmt: skip
_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 1.5, 1e308, float("inf"), float("nan"), 2**31, 2**63, 2**64, 10**30, 10**4_000, "", "0",
    "x", "\ud800", "\x00", "a" * 10_000, [], {}, [[]], [0], {"": 0}, {"x": {}}, [None], "StrongIsr", "replica[0].hw == 0",
)  # fmt: skip
_NUMBER = re.compile(rb"-?\d+")


class Mutator:
    """Changed inputs of a corpus. One seed gives one row of inputs."""

    def __init__(self, corpus: Sequence[bytes], seed: int) -> None:
        assert corpus
        self.random = random.Random(seed)
        self._corpus = corpus
        self._most = MOST_BYTES

    def bytes_of(self, text: bytes) -> bytes:
        """The text with one to six changes; rarely none."""
        self._most = MOST_OF_A_FEW if self.random.random() < 0.01 else MOST_BYTES
        for _ in range(self.random.choice((0, 1, 1, 1, 2, 2, 3, 6))):
            text = self._changed(text)[: self._most]
        return text

    def json_of(self, text: bytes) -> bytes:
        """A JSON document with one to four values changed, or now and then any bytes of it."""
        if self.random.random() < 0.1:
            return self.bytes_of(text)
        document = json.loads(text)
        for _ in range(self.random.choice((0, 1, 1, 1, 2, 4))):
            document = self._value(document)
        return json.dumps(document).encode("utf-8", "surrogatepass")

    # -- bytes ------------------------------------------------------------------------------------------------------------

    def _changed(self, text: bytes) -> bytes:
        pick = self.random
        first = pick.randrange(len(text) + 1)
        last = min(len(text), first + int(pick.paretovariate(0.6)))
        part = text[first:last]
        match pick.randrange(12):
            case 0:
                return text[:first] + text[last:]
            case 1:
                return text[:last] + part + text[last:]
            case 2:
                times = int(pick.paretovariate(0.4 if self._most == MOST_BYTES else 0.1)) % 200_000
                return text[:first] + part * min(times, 1 + self._most // (len(part) + 1)) + text[last:]
            case 3:
                return text[:first] + pick.choice(STRANGE) + text[first:]
            case 4:
                return text[:first] + pick.choice(STRANGE) + text[last:]
            case 5 | 6:
                return self._number(text)
            case 7:
                return text[:first]
            case 8:
                return text[:first] + pick.randbytes(min(len(part), 40)) + text[last:]
            case 9:
                other = pick.choice(self._corpus)
                at = pick.randrange(len(other) + 1)
                return text[:first] + other[at : at + len(part) + 20] + text[last:]
            case 10:
                return self._lines(text)
            case _:
                strange = pick.choice(STRANGE)
                return text[:first] + strange * (int(pick.paretovariate(0.35)) % 30_000) + text[first:]

    def _number(self, text: bytes) -> bytes:
        found = list(_NUMBER.finditer(text))
        if not found:
            return text
        one = self.random.choice(found)
        return text[: one.start()] + self.random.choice(NUMBERS) + text[one.end() :]

    def _lines(self, text: bytes) -> bytes:
        """Lines left out, repeated, exchanged, or taken from elsewhere."""
        lines = text.split(b"\n")
        first, second = self.random.randrange(len(lines)), self.random.randrange(len(lines))
        match self.random.randrange(4):
            case 0:
                lines[first], lines[second] = lines[second], lines[first]
            case 1:
                del lines[min(first, second) : max(first, second)]
            case 2:
                lines.insert(first, lines[second])
            case _:
                lines.insert(first, self.random.choice(self.random.choice(self._corpus).split(b"\n")))
        return b"\n".join(lines)

    # -- JSON -------------------------------------------------------------------------------------------------------------

    def _value(self, document: Any) -> Any:
        pick, places = self.random, list[tuple[Any, Any]]()
        inner = document
        while isinstance(inner, (dict, list)) and inner:
            key = pick.choice(list(inner)) if isinstance(inner, dict) else pick.randrange(len(inner))
            places.append((inner, key))
            inner = inner[key]
        if not places:
            return copy.deepcopy(pick.choice(_VALUES))
        holder, key = pick.choice(places)
        match pick.randrange(6):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, list):
                holder.insert(key, holder[pick.randrange(len(holder))])
            case 1:
                holder[str(pick.choice(_VALUES))[:50]] = holder[key]
            case 2:
                holder[key] = [holder[key]]
            case 3:
                other, there = pick.choice(places)
                holder[key] = json.loads(json.dumps(other[there]))
            case 4 if isinstance(holder[key], (int, str)) and not isinstance(holder[key], bool):
                holder[key] = holder[key] + pick.choice((-1, 1, 7)) if isinstance(holder[key], int) else holder[key] + "x"
            case _:
                holder[key] = copy.deepcopy(pick.choice(_VALUES))
        return document
