"""Everything that can be wrong with what a user gives: one exact code, one sentence that names it, nothing on stdout.

Specs, options and paths that are refused; `test_bad_traces.py` has traces, `test_limits.py` caches and limits. The table runs
in this process, where an unforeseen exception fails the test by itself; a sample of it is repeated with the real command.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from tests.e2e.driver import COMMAND, TINY, acked, assert_one_sentence, call, environment, installed

KINDS = "truncate-to-hw, kip101, kip279, kip320-first-try, kip320"


def changed(old: str, new: str) -> bytes:
    assert old in TINY, old
    return TINY.replace(old, new).encode()


def added(text: str) -> bytes:
    return f"{TINY}{text}\n".encode()


ROW = '[gallery]\nrow = 1\nid = "x"\nfixed = "2.0"'

SPECS: list[tuple[str, bytes, int, tuple[str, ...]]] = [
    # What is wrong, the file, the exit code, what the sentence names.
    ("malformed-toml", changed("[check]", "[check"), 150, ("not valid TOML", "line 8")),
    ("not-utf-8", b"title = \"\xff\xfe\"\n", 150, ("not a valid spec file", "byte 9 is not UTF-8")),
    ("binary", bytes(range(256)) * 9, 150, ("not a valid spec file", "not UTF-8")),
    ("elf", b"\x7fELF\x02\x01\x01\0\0\0", 150, ("not valid TOML",)),
    ("nul", b"\0", 150, ("not valid TOML",)),
    ("json", b"{}", 150, ("not valid TOML",)),
    ("old-mac-line-ends", TINY.replace("\n", "\r").encode(), 150, ("not valid TOML", "line 1")),
    ("nested-lists", added("x = " + "[" * 30_000 + "]" * 30_000), 150, ("nested too deeply",)),
    ("nested-tables", added("x = " + "{a=" * 30_000 + "1" + "}" * 30_000), 150, ("nested too deeply",)),
    ("number-of-5000-digits", changed("replicas = 2", "replicas = " + "9" * 5000), 150, ("4300 digits",)),
    ("key-twice", added('verdict = "holds"'), 150, ("not valid TOML", "line 12")),
    ("table-twice", added("[check]"), 150, ("not valid TOML", "'check'", "line 12")),
    ("empty", b"", 151, ("title is missing",)),
    ("only-a-comment", b"# nothing\n", 151, ("title is missing",)),
    ("no-title", changed('title = "tiny"\n', ""), 151, ("title is missing",)),
    ("no-protocol", changed('protocol = "kip320"\n', ""), 151, ("protocol is missing",)),
    ("unknown-key-at-the-top", f"protocl = 1\n{TINY}".encode(), 151, (":1: ", "'protocl'", "did you mean protocol?")),
    ("unknown-key-in-check", changed("invariants", "invariant"), 151, (":9: ", "[check]", "did you mean invariants?")),
    ("unknown-key-in-expect", added("distinct_state = 3"), 151, (":12: ", "[expect]", "did you mean distinct_states?")),
    ("unknown-key-in-weaken", added("[weaken]\ndorp = []"), 151, (":13: ", "[weaken]", "did you mean drop?")),
    ("unknown-protocol", changed("kip320", "kip321"), 151, (":2: ", "'kip321'", "did you mean kip320?", KINDS)),
    ("unknown-invariant", changed("WeakIsr", "WeekIsr"), 151, (":9: ", "'WeekIsr'", "did you mean WeakIsr?", "StrongIsr")),
    ("unknown-constant", changed("replicas =", "replica ="), 151, (":4: ", "'replica'", "did you mean replicas?")),
    ("missing-constant", changed("replicas = 2\n", ""), 151, (":3: ", "'replicas'", "1 to 12")),
    ("no-constants", changed("[constants]\nreplicas = 2\nlog_size = 1\nmax_records = 1\nmax_leader_epoch = 1\n", ""), 151,
     ("'replicas'",)),
    ("constant-too-large", changed("replicas = 2", "replicas = 13"), 151, (":4: ", "replicas is 13", "1 to 12")),
    ("constant-too-small", changed("log_size = 1", "log_size = 0"), 151, (":5: ", "log_size is 0", "1 to 16")),
    ("constant-negative", changed("max_leader_epoch = 1", "max_leader_epoch = -1"), 151, (":7: ", "is -1", "0 to 14")),
    ("constant-enormous", changed("replicas = 2", "replicas = " + "9" * 60), 151, (":4: ", "1 to 12")),
    ("constant-bool", changed("replicas = 2", "replicas = true"), 151, (":4: ", "replicas is True", "1 to 12")),
    ("constant-float", changed("replicas = 2", "replicas = 2.0"), 151, (":4: ", "replicas is 2.0", "1 to 12")),
    ("constant-nan", changed("replicas = 2", "replicas = nan"), 151, (":4: ", "replicas is nan")),
    ("constant-string", changed("replicas = 2", 'replicas = "2"'), 151, (":4: ", "replicas is '2'")),
    ("constant-list", changed("replicas = 2", "replicas = [2]"), 151, (":4: ", "replicas is [2]")),
    ("constant-date", changed("replicas = 2", "replicas = 2024-01-01"), 151, (":4: ", "replicas is")),
    ("constants-not-a-table", b'title = "t"\nprotocol = "kip320"\nconstants = 3\n', 151, (":3: ", "write [constants]")),
    ("check-is-a-list", changed("[check]", "[[check]]"), 151, (":8: ", "write [check]")),
    ("expect-is-a-list", changed("[expect]", "[[expect]]"), 151, (":10: ", "write [expect]")),
    ("title-is-a-number", changed('"tiny"', "3"), 151, (":1: ", "title is 3", "text in quotes")),
    ("protocol-is-a-list", changed('"kip320"', '["kip320"]'), 151, (":2: ", "protocol is", "text in quotes")),
    ("protocol-with-a-line-break", changed('"kip320"', '"kip\\n320"'), 151, (":2: ", "'kip\\n320'")),
    ("slow-is-text", f'slow = "yes"\n{TINY}'.encode(), 151, (":1: ", "slow is 'yes'", "true or false")),
    ("invariants-is-a-number", changed('["WeakIsr"]', "3"), 151, (":9: ", "check.invariants")),
    ("invariants-are-mixed", changed('["WeakIsr"]', '["WeakIsr", 3]'), 151, (":9: ", "check.invariants")),
    ("invariants-empty", changed('["WeakIsr"]', "[]"), 151, (":9: ", "asks nothing", "count_only")),
    ("no-check", changed('[check]\ninvariants = ["WeakIsr"]\n', ""), 151, ("asks nothing", "count_only")),
    ("invariant-twice", changed('["WeakIsr"]', '["WeakIsr", "WeakIsr"]'), 151, (":9: ", "WeakIsr is asked twice")),
    ("deadlock-twice", changed('["WeakIsr"]', '["Deadlock"]\ndeadlock = true'), 151, (":9: ", "Deadlock is asked twice")),
    ("count-only-with-invariants", changed('["WeakIsr"]', '["WeakIsr"]\ncount_only = true'), 151, (":10: ", "count_only")),
    ("symmetry-of-seven",
     changed('["WeakIsr"]', '["WeakIsr"]\nsymmetry = true').replace(b"replicas = 2", b"replicas = 7"), 151,
     (":10: ", "7 replicas can be renamed in 5,040 ways", "leave symmetry out")),
    ("symmetry-is-text", changed('["WeakIsr"]', '["WeakIsr"]\nsymmetry = "no"'), 151, (":10: ", "symmetry is 'no'")),
    ("verdict-missing", changed('verdict = "holds"\n', "depth = 12\n"), 151, (":10: ", "expect.verdict is missing")),
    ("verdict-unknown", changed('"holds"', '"hold"'), 151, (":11: ", "'hold'", "holds, violated, incomplete")),
    ("violated-without-what", changed('"holds"', '"violated"'), 151, (":11: ", "violates")),
    ("violates-nothing", changed('"holds"', '"violated"\nviolates = []'), 151, (":11: ", "violates")),
    ("violates-not-asked", changed('"holds"', '"violated"\nviolates = "StrongIsr"'), 151,
     (":12: ", "'StrongIsr'", "not asked", "WeakIsr")),
    ("violates-twice", changed('"holds"', '"violated"\nviolates = ["WeakIsr", "WeakIsr"]'), 151,
     (":12: ", "WeakIsr", "twice")),
    ("violates-though-it-holds", added('violates = "WeakIsr"'), 151, (":12: ", "violates", "holds")),
    ("trace-length-though-it-holds", added("trace_length = 3"), 151, (":12: ", "trace_length", "holds")),
    ("never-fired-though-violated",
     changed('"holds"', '"violated"\nviolates = "WeakIsr"\nnever_fired = ["LeaderWrite"]'), 151, (":13: ", "never_fired")),
    ("never-fired-unknown", added('never_fired = ["LeaderWrit"]'), 151,
     (":12: ", "'LeaderWrit'", "did you mean LeaderWrite?")),
    ("pin-zero", added("distinct_states = 0"), 151, (":12: ", "distinct_states is 0")),
    ("pin-negative", added("depth = -1"), 151, (":12: ", "depth is -1")),
    ("pin-bool", added("distinct_states = true"), 151, (":12: ", "distinct_states is True", "an integer")),
    ("pin-float", added("generated_states = 1e3"), 151, (":12: ", "generated_states is 1000.0", "an integer")),
    ("drop-unknown-action", added('[weaken]\ndrop = ["LeaderWrit: room"]'), 151,
     (":13: ", "'LeaderWrit: room'", "LeaderWrite")),
    ("drop-unknown-clause", added('[weaken]\ndrop = ["LeaderWrite: rom"]'), 151, (":13: ", "'rom'", "'room in the log'")),
    ("drop-without-label", added('[weaken]\ndrop = ["LeaderWrite"]'), 151, (":13: ", "Action: label")),
    ("drop-is-a-number", added("[weaken]\ndrop = 3"), 151, (":13: ", "weaken.drop")),
    ("weaken-is-a-number", f"weaken = 3\n{TINY}".encode(), 151, (":1: ", "write [weaken]")),
    ("claim-without-true", added('[claim]\nsource = "x"'), 151, (":12: ", "claim.true is missing")),
    ("claim-without-source", added("[claim]\ntrue = true"), 151, (":12: ", "claim.source is missing")),
    ("claim-false-uncorrected", added('[claim]\ntrue = false\nsource = "x"'), 151, (":12: ", "claim.corrected is missing")),
    ("claim-true-corrected", added('[claim]\ntrue = true\nsource = "x"\ncorrected = "y"'), 151, (":15: ", "remove the line")),
    ("claim-is-text", added('[claim]\ntrue = "yes"\nsource = "x"'), 151, (":13: ", "true or false")),
    ("unknown-key-in-claim", added('[claim]\ntrue = true\nsauce = "x"'), 151, (":14: ", "[claim]", "did you mean source?")),
    ("gallery-without-role", added('[gallery]\nrow = 1\nid = "x"\nfixed = "2.0"'), 151, (":12: ", "gallery.role is missing")),
    ("gallery-role-unknown", added(f'{ROW}\nrole = "bugs"'), 151, (":16: ", "'bugs'", "bug, fix, latest, attempt, open")),
    ("gallery-bug-without-mechanism", added(f'{ROW}\nrole = "bug"'), 151, (":12: ", "mechanism", "bug or open or attempt")),
    ("gallery-fix-without-rule", added(f'{ROW}\nrole = "fix"'), 151, (":12: ", "rule", "role fix")),
    ("gallery-rule-of-a-bug", added(f'{ROW}\nrole = "bug"\nmechanism = "x"\nrule = "y"'), 151, (":18: ", "rule", "role fix")),
    ("gallery-row-zero", added(f'{ROW}\nrole = "latest"'.replace("row = 1", "row = 0")), 151, (":13: ", "at least 1")),
    ("unknown-key-in-gallery", added(f'{ROW}\nrole = "latest"\nfix = "x"'), 151, (":17: ", "[gallery]", "fixed")),
    (
        "state-too-large",
        TINY.replace("replicas = 2", "replicas = 12")
        .replace("log_size = 1", "log_size = 16")
        .replace("max_records = 1", "max_records = 16")
        .replace("max_leader_epoch = 1", "max_leader_epoch = 14")
        .encode(),
        151,
        (":3: ", "35 words", "choose smaller constants"),
    ),
]  # fmt: skip


# -- spec files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("content", "code", "parts"), [case[1:] for case in SPECS], ids=[case[0] for case in SPECS])
def test_a_wrong_spec_is_refused_in_one_sentence(
    content: bytes, code: int, parts: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "spec.toml"
    path.write_bytes(content)
    assert_one_sentence(call(capsys, "check", path, "--format", "json"), code, str(path), *parts)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["malformed-toml", "nested-lists", "unknown-key-in-check", "state-too-large"])
def test_the_real_command_refuses_a_wrong_spec_likewise(name: str, tmp_path: Path) -> None:
    content, code, parts = next(case[1:] for case in SPECS if case[0] == name)
    path = tmp_path / "spec.toml"
    path.write_bytes(content)
    assert_one_sentence(installed("check", path), code, str(path), *parts)


def test_a_spec_with_a_byte_order_mark_and_windows_line_ends_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "spec.toml"
    path.write_bytes(b"\xef\xbb\xbf" + TINY.replace("\n", "\r\n").encode())
    assert call(capsys, "check", path).returncode == 0


def no_file(path: Path, kind: str) -> Path:
    """Something that would be waited for, or may have no end, under a name."""
    if kind == "named pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/null")
    else:
        with socket.socket(socket.AF_UNIX) as listening:
            before = os.getcwd()
            os.chdir(path.parent)  # A socket's name may not be as long as a path.
            listening.bind(path.name)
            os.chdir(before)
    return path


READERS: dict[str, tuple[str, ...]] = {
    "spec": ("check", "no.toml"),
    "bare-name": ("check", "no"),
    "explored": ("explore", "no.toml"),
    "shown": ("show", "no.json"),
    "viewed": ("view", "no.json"),
    "exported": ("export", "no.json", "--to", "csv"),
    "foreign": ("view", "no.json", "--spec", "kip320-2111"),
    "gate": ("gate", "no.toml"),
    "collected": ("gate", "."),
    "protocol": ("check", "uses-no.toml"),
    "settings": ("audit", "no.properties"),
    "table": ("matrix", "no.toml"),
    "dataset": ("query", "data", "SELECT 1"),
    "profile": ("stats", "data"),
}


@pytest.mark.parametrize("kind", ["named pipe", "device", "socket"])
@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_file_is_refused_before_it_is_waited_for(
    reader: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = READERS[reader]
    (tmp_path / "data").mkdir()
    name = next((item for item in arguments[1:] if item.startswith("no")), "no.toml")
    name = {"protocol": "no.py", "dataset": "data/about.json", "profile": "data/about.json"}.get(reader, name)
    if reader == "protocol":
        (tmp_path / "uses-no.toml").write_text(TINY.replace("kip320", "no.py:no"))
    no_file(tmp_path / name, kind)

    def waited(*_: object) -> None:
        raise AssertionError("it waited, or would not end")

    before = signal.signal(signal.SIGALRM, waited)
    signal.alarm(30)
    try:
        done = call(capsys, *arguments)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    assert done.returncode in (150, 151), done.stdout
    if reader not in ("dataset", "profile"):  # which say that the folder is none
        assert kind in " ".join((done.stdout + done.stderr).split())


@pytest.mark.slow
@pytest.mark.parametrize("command", [["check", "/dev/stdin"], ["check", "/dev/fd/0"]])
def test_what_the_shell_hands_over_is_read_to_its_end(command: list[str], tmp_path: Path) -> None:
    asked = [COMMAND, *command, "--quiet"]
    done = subprocess.run(asked, input=TINY, env=environment(), capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "277 distinct states" in done.stdout


def test_what_is_no_file_is_written_into_and_not_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sink = tmp_path / "sink"
    sink.symlink_to("/dev/null")
    assert call(capsys, "export", "truncate-to-hw", "--to", "csv", "--out", sink, "-q").returncode == 0
    assert sink.is_char_device()
    assert [path.name for path in tmp_path.iterdir()] == ["sink"]


def test_the_name_of_a_bundled_spec_runs_no_file_that_is_there_by_chance(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kip320").write_text(TINY.replace("kip320", "evil.py:x"))
    (tmp_path / "evil.py").write_text("open('ran', 'w')\n")
    for command in ("check", "gate", "explore", "prove"):
        assert_one_sentence(call(capsys, command, "kip320"), 151, "kip320 is a bundled spec, and also a file", "./kip320")
    assert not (tmp_path / "ran").exists()
    assert "has no protocol 'x'" in call(capsys, "check", "./kip320").stderr
    assert (tmp_path / "ran").exists()


@pytest.mark.slow
def test_the_gate_takes_bundled_names_with_their_folders(capsys: pytest.CaptureFixture[str]) -> None:
    assert "1 spec as expected" in call(capsys, "gate", "claims/acks-1-loses").stdout
    assert "no spec found" in call(capsys, "gate", "claims/acks-1-looses").stdout


def test_a_folder_is_no_spec(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert_one_sentence(call(capsys, "check", tmp_path), 150, str(tmp_path), "is a folder")


def test_a_missing_file_is_told_with_the_file_that_may_be_meant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "retention.toml").write_text(TINY)
    missing = tmp_path / "retentoin.toml"
    assert_one_sentence(call(capsys, "check", missing), 150, str(missing), "did you mean retention.toml?")
    missing = tmp_path / "kip32.toml"
    assert_one_sentence(call(capsys, "check", missing), 150, str(missing), "did you mean the bundled spec kip320?")
    missing = tmp_path / "nowhere" / "spec.toml"
    assert_one_sentence(call(capsys, "check", missing), 150, str(missing), "No such file")


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("kip321", ("kip321", "did you mean kip320?", "acked list specs")),
        ("zzz", ("zzz", "acked list specs")),
        ("", ("''", "acked list specs")),
        ("a\nb", ("a\\nb",)),
        ("\x1b[31mred", ("\\x1b[31mred",)),
        ("x" * 5000, ("xxx… (", " characters)")),
        ("x" * 5000 + ".toml", ("xxx",)),
        ("a\0b.toml", ("a\\x00b.toml",)),
    ],
    ids=["near", "far", "empty", "line-break", "escape", "long-name", "long-path", "nul"],
)
def test_a_name_that_no_spec_has_is_refused(
    name: str, parts: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert_one_sentence(call(capsys, "check", name), 150, *parts)


def test_a_value_that_nobody_reads_to_its_end_is_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "server.properties").write_text("min.insync.replicas=" + "7" * 10_000)
    told = call(capsys, "audit", str(tmp_path / "server.properties"), "--quiet")
    assert_one_sentence(told, 151, "min.insync.replicas", "777… (10,0", " characters)")
    assert len(told.stderr) < 400 + len(str(tmp_path))


def test_a_path_below_a_file_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "spec.toml").write_text(TINY)
    below = tmp_path / "spec.toml" / "other.toml"
    assert_one_sentence(call(capsys, "check", below), 150, str(below), "Not a directory")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_a_file_without_permission_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "spec.toml"
    path.write_text(TINY)
    path.chmod(0)
    assert_one_sentence(call(capsys, "check", path), 150, str(path), "Permission denied")


def test_a_dangling_link_and_a_link_to_itself_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, target in (("dangling.toml", "nothing.toml"), ("loop.toml", "loop.toml")):
        (tmp_path / name).symlink_to(target)
        assert_one_sentence(call(capsys, "check", tmp_path / name), 150, name)


# -- options -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["chek"], ("'chek'", "did you mean check?")),
        (["check"], ("'SPEC'", "check --help")),
        (["show"], ("'TRACE'", "show --help")),
        (["check", "kip320", "more"], ("more",)),
        (["check", "kip320", "--nope"], ("--nope",)),
        (["check", "kip320", "--worker", "2"], ("--workers",)),
        (["check", "kip320", "--workers", "0"], ("--workers", "0", "1<=x<=256")),
        (["check", "kip320", "--workers", "257"], ("--workers", "257")),
        (["check", "kip320", "--workers", "two"], ("--workers", "'two'")),
        (["check", "kip320", "--workers"], ("--workers",)),
        (["check", "kip320", "--memory", "nonsense"], ("--memory", "'nonsense'", "4GB")),
        (["check", "kip320", "--memory", "0"], ("--memory", "'0'")),
        (["check", "kip320", "--memory=-1GB"], ("--memory", "'-1GB'")),
        (["check", "kip320", "--memory", "1e999GB"], ("--memory",)),
        (["check", "kip320", "--memory", "9" * 400 + "GB"], ("--memory",)),
        (["check", "kip320", "--max-depth", "0"], ("--max-depth", "0")),
        (["check", "kip320", "--max-states", "-5"], ("--max-states", "-5")),
        (["check", "kip320", "--format", "xml"], ("--format", "'xml'", "'json'")),
        (["check", "kip320", "-c", "replica=2"], ("'replica'", "did you mean replicas?")),
        (["check", "kip320", "-c", "replicas"], ("'replicas'", "replicas=2")),
        (["check", "kip320", "-c", "replicas=two"], ("replicas is 'two'", "1 to 12")),
        (["check", "kip320", "-c", "replicas=2.5"], ("replicas is '2.5'", "1 to 12")),
        (["check", "kip320", "-c", "replicas=13"], ("replicas is 13", "1 to 12")),
        (["check", "kip320", "-c", "replicas=2", "-c", "replicas=3"], ("replicas", "twice")),
        (["check", "kip320", "-c", "replicas=12", "-c", "log_size=16", "-c", "max_records=16", "-c", "max_leader_epoch=14"],
         ("35 words", "choose smaller constants")),
        (["graph", "kip320", "-o", "g"], ("--to", "graphml, dot")),
        (["show", "t.json", "--spec", "kip320", "--trust"], ("--trust", "--spec")),
        (["simulate", "kip320", "--weight", "LeaderWrite=1", "--weight", "LeaderWrite=0"], ("LeaderWrite", "twice")),
        (["simulate", "recoverable/kafka-14010"], ("every reachable state", "acked check")),
        (["list", "everything"], ("'everything'", "protocols")),
        (["list", "--format", "toml"], ("'toml'",)),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else "",
)
def test_a_wrong_option_is_refused_in_one_sentence(
    arguments: list[str], parts: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert_one_sentence(call(capsys, *arguments), 151, *parts)


def test_a_trace_of_ours_has_its_constants(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "t.json"
    assert call(capsys, "check", "kip101", "--trace-out", str(trace)).returncode == 12
    done = call(capsys, "export", str(trace), "--to", "csv", "--spec", "kip101", "-c", "replicas=2")
    assert_one_sentence(done, 151, "-c", "fixed")


def test_the_real_command_refuses_unknown_options_likewise() -> None:
    assert_one_sentence(installed("check", "kip320", "--nope"), 151, "--nope")


@pytest.mark.slow
@pytest.mark.parametrize("memory", ["1", "1KB", "1MB", "0.5 MiB"])
def test_too_little_memory_is_an_incomplete_search_and_no_error(memory: str) -> None:
    done = acked("check", "kip320", "--memory", memory, "--format", "json")
    assert done.returncode == 152, done.stderr
    document = json.loads(done.stdout)
    assert (document["verdict"], document["stopped"]) == ("incomplete", "memory")
    assert document["violations"] == []


def test_a_protocol_that_leaves_its_domain_is_an_error_that_names_action_and_field(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "spec.toml"
    path.write_bytes(added('[weaken]\ndrop = ["ControllerElectLeader: a leader epoch is left"]'))
    done = call(capsys, "check", path)
    assert "ControllerShrinkIsr(replica=" in done.stdout, "the way there is shown"
    told = subprocess.CompletedProcess(done.args, done.returncode, "", done.stderr)
    assert_one_sentence(told, 10, "ControllerElectLeader(replica=", "quorum.leader_epoch", "outside its domain")
