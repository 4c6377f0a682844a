"""Which messages Kafka's loggers print about partitions, from its sources: keeps `cluster/lines/templates.tsv`.

    python tools/lines/wordings.py            # what the sources say otherwise than the table; exit code 1 if anything
    python tools/lines/wordings.py --write    # the table anew; what is new in it tells `unknown` until somebody has read it

Source jars come with Maven, one release of each line. Of log calls (trace to error) in the classes that print
through the loggers which `acked kafka observe` switches on, the text of the message is kept, with {} for each value. 4.4.0
has no source jars: a message of 4.3 counts as one of 4.4 where its texts are constants of the classes, and a constant that
reads like a message and is in no class of 4.3 is shown; one that has {} is a message, of a level that is not known.
"""

from __future__ import annotations

import argparse
import re
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from acked.cluster.lines.templates import FAMILY, Tells, Template, read_templates  # noqa: E402

TABLE = ROOT / "cluster" / "lines" / "templates.tsv"

SOURCES = ("2.8.2", "3.3.2", "3.4.1", "3.5.2", "3.6.2", "3.7.2", "3.8.1", "3.9.1", "4.0.0", "4.1.0", "4.2.0", "4.3.1")
"""One release of each line whose lines are read."""
CLASSES = "4.4.0"
ARTIFACTS = (("kafka_2.13", (2, 8)), ("kafka-metadata", (2, 8)), ("kafka-storage", (3, 7)))
"""Where the classes are, and since when."""
STATE_CHANGE = "state.change.logger"
FILES = {
    "cluster/Partition": "kafka.cluster.Partition",
    "server/AbstractFetcherThread": "kafka.server.ReplicaFetcherThread",
    "server/ReplicaFetcherThread": "kafka.server.ReplicaFetcherThread",
    "log/Log": FAMILY, "log/UnifiedLog": FAMILY,
    "controller/ReplicationControlManager": "org.apache.kafka.controller.ReplicationControlManager",
    "server/ReplicaManager": "", "controller/KafkaController": "", "controller/PartitionStateMachine": "",
    "controller/ReplicaStateMachine": "", "controller/ControllerChannelManager": "",
}  # fmt: skip
"""By the end of its path what a class prints through; empty: through the logger of state changes alone."""
LEVELS = {"trace": "TRACE", "debug": "DEBUG", "info": "INFO", "warn": "WARN", "error": "ERROR", "fatal": "ERROR"}
STATE_LOG = r"state\w*[lL]og(?:ger)?(?:\.withControllerEpoch\([^)]*\))?"
CALL = re.compile(rf"(?<![\w.])(?:(?:({STATE_LOG})|logger|log|LOG)\s*\.)?({'|'.join(LEVELS)})\s*([({{])")
VALUE = "{}"
"""In the text of a message of log4j or slf4j for each value; an exception's text has other marks."""
OPENS = re.compile(r'[sf]?("""|")')
COMMENT = re.compile(r'("""(?:.*?)"""|"(?:\\.|[^"\\\n])*")|/\*.*?\*/|//[^\n]*', re.DOTALL)
POM = """<project><modelVersion>4.0.0</modelVersion><groupId>acked</groupId>
<artifactId>wordings</artifactId><version>1</version><packaging>pom</packaging><build><plugins><plugin>
<groupId>org.apache.maven.plugins</groupId><artifactId>maven-dependency-plugin</artifactId><configuration>
<outputDirectory>{folder}</outputDirectory><artifactItems>{items}</artifactItems></configuration></plugin></plugins></build>
</project>"""


@dataclass(frozen=True)
class Said:
    """One log call: who prints it, at which level, and its text with {} for each value."""

    logger: str
    level: str
    text: str


def fetch(folder: Path) -> None:
    """The source jars of all release lines, and the class files of the newest, with Maven."""
    items = []
    sources = [(version, "<classifier>sources</classifier>") for version in SOURCES]
    for version, classifier in (*sources, (SOURCES[-1], ""), (CLASSES, "")):
        for name, since in ARTIFACTS:
            if numbers(version) >= since:
                items.append(
                    f"<artifactItem><groupId>org.apache.kafka</groupId><artifactId>{name}</artifactId>"
                    f"<version>{version}</version>{classifier}</artifactItem>"
                )
    (folder / "pom.xml").write_text(POM.format(folder=folder, items="".join(items)), "utf-8")
    subprocess.run(["mvn", "-q", "-B", "-f", str(folder / "pom.xml"), "dependency:copy"], check=True)


def numbers(version: str) -> tuple[int, ...]:
    """A release or a line of releases as numbers, to compare."""
    return tuple(map(int, version.split(".")))


def line_of(version: str) -> str:
    """The line of a release, such as 3.9."""
    return ".".join(version.split(".")[:2])


def members(folder: Path, jars: str) -> Iterator[tuple[str, str, bytes]]:
    """The files in some jars, by the end of their names, that print through the loggers: logger, name, what they hold."""
    for jar in sorted(folder.glob(f"*-{jars}")):
        with zipfile.ZipFile(jar) as archive:
            for name in archive.namelist():
                logger = FILES.get("/".join(name.split("$")[0].rsplit(".", 1)[0].split("/")[-2:]))
                if logger is not None and name.endswith((".scala", ".java", ".class")):
                    yield logger, name, archive.read(name)


def literal(text: str, at: int) -> int:
    """The place after the string literal that begins at `at`, which may hold others in its ${…}; 0 where none begins."""
    opened = OPENS.match(text, at)
    if opened is None:
        return 0
    at = opened.end()
    while at < len(text) and not text.startswith(opened[1], at):
        if text.startswith("${", at) and opened[0][0] in "sf":
            at = block(text, at + 1)
        else:
            at += 2 if text[at] == "\\" and opened[1] == '"' else 1
    return at + len(opened[1])


def block(text: str, at: int) -> int:
    """The place after the bracket that closes the one at `at`; literals are passed over."""
    depth = 0
    while at < len(text):
        if end := literal(text, at):
            at = end
            continue
        depth += (text[at] in "({") - (text[at] in ")}")
        at += 1
        if depth == 0:
            break
    return at


def interpolated(text: str) -> str:
    """A text with {} for each ${…} and $name."""
    found, at = "", 0
    while at < len(text):
        if text.startswith("${", at):
            found, at = found + "{}", block(text, at + 1)
        elif name := re.compile(r"\$[A-Za-z_]\w*").match(text, at):
            found, at = found + "{}", name.end()
        else:
            found, at = found + text[at], at + 1
    return found


def template(argument: str) -> str:
    """The text that a call's first argument makes, with {} for each value; empty where it is made elsewhere."""
    pieces, since, at = list[str](), 0, 0
    while at < len(argument) and not (pieces and argument[at] == ","):
        end = literal(argument, at)
        if not end:
            at = block(argument, at) if pieces and argument[at] == "(" else at + 1
            continue
        between, opened = argument[since:at], OPENS.match(argument, at)
        assert opened is not None
        if re.search(r"\w", between):
            pieces.append("{}")
        text = argument[opened.end() : end - len(opened[1])]
        pieces.append(interpolated(text) if opened[0][0] in "sf" else text)
        since = at = end
    if pieces and re.search(r"\w", argument[since:at].replace(".format", "")):
        pieces.append("{}")
    whole = "".join(pieces).replace('\\"', '"').split("\\n")[0]
    whole = re.sub(r"%[sd]|\{\w+\}", "{}", whole)
    return re.sub(r"(?:\{\})+", "{}", whole).strip()


def calls(source: str, logger: str) -> Iterator[Said]:
    """The log calls of a source file."""
    source = COMMENT.sub(lambda found: found[1] or "", source)
    for found in CALL.finditer(source):
        through = STATE_CHANGE if found[1] else logger
        end = block(source, found.end() - 1) - 1
        text = template(source[found.end() : end])
        if through and text:
            yield Said(through, LEVELS[found[2]], text)


def constants(data: bytes) -> set[str]:
    """The strings of a class file, and the texts of its concatenations, whose values are characters 1."""
    [count] = struct.unpack_from(">H", data, 8)
    at, number, texts, named = 10, 1, dict[int, str](), set[int]()
    sizes = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
    while number < count:
        tag = data[at]
        if tag == 1:
            [size] = struct.unpack_from(">H", data, at + 1)
            texts[number] = data[at + 3 : at + 3 + size].decode("utf-8", "replace")
            at += 3 + size
        else:
            if tag == 8:
                named.add(struct.unpack_from(">H", data, at + 1)[0])
            at += 1 + sizes[tag]
        number += 2 if tag in (5, 6) else 1
    return {texts[place] for place in named}


def pieces_of(text: str) -> list[str]:
    """The texts between the values."""
    return [piece for piece in text.split("{}") if piece.strip()]


def extracted(folder: Path) -> tuple[dict[Said, list[str]], list[str]]:
    """Every message with the lines of releases that have it, and constants that are new in the newest."""
    found: dict[Said, list[str]] = {}
    for version in SOURCES:
        for logger, _, data in members(folder, f"{version}-sources.jar"):
            for said in calls(data.decode("utf-8"), logger):
                lines = found.setdefault(said, [])
                if line_of(version) not in lines:
                    lines.append(line_of(version))
    newest, before = (
        {(logger, text.replace("\1", "<>")) for logger, _, data in members(folder, jars) for text in constants(data)}
        for jars in (f"{CLASSES}.jar", f"{SOURCES[-1]}.jar")
    )
    held = "\n".join(text for _, text in newest)
    for said, lines in found.items():
        if line_of(SOURCES[-1]) in lines and all(piece in held for piece in pieces_of(said.text)):
            lines.append(line_of(CLASSES))
    new = sorted((logger, text) for logger, text in newest - before if re.search(r"(?:[\w{}]+[ ,.:']+){3,}", text))
    for logger, text in new:
        if VALUE in text and logger:
            found[Said(logger, "?", text)] = [line_of(CLASSES)]
    return found, [text for _, text in new]


def spans(lines: list[str]) -> str:
    """Lines of releases as the table has them: 3.3-3.9 for all of them in between."""
    every = [line_of(version) for version in (*SOURCES, CLASSES)]
    told, start = [], 0
    places = [every.index(line) for line in lines]
    for number, place in enumerate(places):
        if number + 1 == len(places) or places[number + 1] != place + 1:
            first = every[places[start]]
            told.append(first if first == every[place] else f"{first}-{every[place]}")
            start = number + 1
    return ",".join(told)


def main() -> int:
    """Extracts, compares with the table, and writes it if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the table anew")
    parser.add_argument("--jars", type=Path, help="a folder that has the jars already")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = asked.jars or Path(name)
        if asked.jars is None:
            fetch(folder)
        found, new = extracted(folder)
    tells = {(item.logger, item.text): item.tells for item in read_templates()} if TABLE.is_file() else {}
    rows = sorted(
        (
            Template(said.logger, said.level, spans(lines), tells.get((said.logger, said.text), Tells.UNKNOWN), said.text)
            for said, lines in found.items()
        ),
        key=lambda row: (row.logger, row.text, row.level),
    )
    text = "".join("\t".join(row) + "\n" for row in [Template._fields, *rows])
    for constant in new:
        print(f"new in {CLASSES}, and perhaps a message: {constant!r}", file=sys.stderr)
    if asked.write:
        TABLE.write_text(text, "utf-8")
        print(f"{len(rows)} messages, {sum(row.tells is Tells.UNKNOWN for row in rows)} of them unknown")
        return 0
    differs = sorted(set(text.splitlines()) ^ set(TABLE.read_text("utf-8").splitlines()))
    print("\n".join(differs) or f"the table has all {len(rows)} messages of {', '.join(SOURCES)}")
    return int(bool(differs))


if __name__ == "__main__":
    sys.exit(main())
