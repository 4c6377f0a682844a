"""The cache believes nobody else: whose folder it is, who has the key, and what becomes of the command otherwise."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from acked.base import cache
from acked.base.cache import NotOurs, SealedStore, cache_directory, cache_folder, cache_key, why_no_cache
from acked.base.errors import ConfigurationError
from acked.base.sources import sources_hash
from acked.checker.batch.cache import ResultCache
from acked.checker.native import compile as native
from acked.checker.native.compile import compile_kernel, kernel_key
from acked.checker.question.question import Question
from acked.cli import main
from tests.checker.toys import always, ask, counters
from tests.e2e.driver import COMMAND, TINY, acked, assert_one_sentence
from tests.places import CHECKOUT

STRANGER = 54321
"""A user who is nobody on this machine."""

IS_ROOT = os.getuid() == 0


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, and nothing else said about where the cache is."""
    for name in ("ACKED_CACHE_DIR", "XDG_CACHE_HOME", "XDG_STATE_HOME", "ACKED_CACHE_KEY"):
        monkeypatch.delenv(name, raising=False)
    place = tmp_path / "home"
    place.mkdir(0o700)
    monkeypatch.setenv("HOME", str(place))
    return place


@pytest.fixture
def chosen(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What ACKED_CACHE_DIR names; it is not there yet."""
    monkeypatch.setenv("ACKED_CACHE_DIR", str(tmp_path / "chosen"))
    return tmp_path / "chosen"


@pytest.fixture
def loose() -> Iterator[None]:
    """A umask that leaves everything to everybody."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# -- the folder --------------------------------------------------------------------------------------------------------


def test_the_cache_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACKED_CACHE_DIR", "/a")
    monkeypatch.setenv("XDG_CACHE_HOME", "/b")
    assert cache_directory() == Path("/a")
    monkeypatch.setenv("ACKED_CACHE_DIR", "")
    assert cache_directory() == Path("/b/acked")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", os.sep + "c")
    assert cache_directory() == Path("/c/.cache/acked")


def test_without_a_home_there_is_no_cache_and_no_name_that_others_could_take(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    assert cache_directory() is None
    assert cache_folder() is None
    assert why_no_cache() == ""


@pytest.mark.usefixtures("loose")
def test_what_is_made_is_for_us_alone_whatever_the_umask(home: Path) -> None:
    folder = cache_folder("results")
    assert folder == home / ".cache" / "acked" / "results"
    SealedStore.of(folder).write("answers/x.json", b"x")
    for made in (home / ".cache", home / ".cache" / "acked", folder, folder / "answers", home / ".local" / "state" / "acked"):
        assert mode(made) == 0o700, made
    assert mode(folder / "answers" / "x.json") == mode(home / ".local" / "state" / "acked" / "cache.key") == 0o600


@pytest.mark.parametrize("bits", [0o777, 0o770, 0o702, 0o1777])
def test_a_chosen_folder_that_others_may_write_to_is_refused(chosen: Path, bits: int) -> None:
    chosen.mkdir()
    chosen.chmod(bits)
    with pytest.raises(ConfigurationError, match=rf"ACKED_CACHE_DIR is {chosen}, but others may write to {chosen}; name a"):
        cache_folder()
    assert mode(chosen) == bits
    chosen.chmod(0o755)
    assert cache_folder() == chosen


def test_a_chosen_folder_below_one_that_others_may_write_to_is_refused_unless_nobody_can_take_it_away(
    chosen: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen.mkdir(0o700)
    monkeypatch.setenv("ACKED_CACHE_DIR", str(chosen / "below" / "it"))
    chosen.chmod(0o777)
    with pytest.raises(ConfigurationError, match=rf"others may write to {chosen}, which leads to {chosen}/below/it"):
        cache_folder()
    assert not (chosen / "below").exists()
    chosen.chmod(0o1777)  # as /tmp is
    assert cache_folder() == chosen / "below" / "it"
    chosen.chmod(0o777)
    with pytest.raises(ConfigurationError, match=f"others may write to {chosen}, which leads to"):
        cache_folder()


def test_a_link_of_ours_is_followed_and_what_it_leads_to_is_looked_at(
    chosen: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").mkdir(0o700)
    (tmp_path / "open").mkdir()
    chosen.symlink_to("real/../real")
    assert cache_folder() == chosen
    (tmp_path / "open" / "real").mkdir(0o700)
    chosen.unlink()
    chosen.symlink_to(tmp_path / "open" / "real")
    assert cache_folder() == chosen
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(ConfigurationError, match=f"others may write to {tmp_path}/open, which leads to"):
        cache_folder()
    chosen.unlink()
    chosen.symlink_to(chosen)
    assert cache_folder() is None


def test_the_usual_folder_is_closed_to_others_if_it_is_ours(home: Path) -> None:
    folder = home / ".cache" / "acked"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    assert cache_folder() == folder
    assert mode(folder) == 0o700
    assert why_no_cache() == ""
    (folder / "java-1").mkdir()
    (folder / "java-1").chmod(0o777)
    assert cache_folder("java-1", "bin") is None  # It is not looked into: others may have put a bin there.
    assert cache_folder("java-1") == folder / "java-1"
    assert mode(folder / "java-1") == 0o700


def test_the_usual_folder_is_done_without_where_others_could_replace_it(home: Path) -> None:
    (home / ".cache").mkdir()
    (home / ".cache").chmod(0o777)
    assert cache_folder() is None
    assert why_no_cache() == (
        f"nothing is cached, because others may write to {home}/.cache, which leads to {home}/.cache/acked; "
        "correct that, or name a folder of your own in ACKED_CACHE_DIR"
    )
    assert not (home / ".cache" / "acked").exists()


def test_a_folder_that_belongs_to_somebody_else_is_refused(
    home: Path, chosen: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = os.getuid()
    chosen.mkdir(0o755)
    (home / ".cache" / "acked").mkdir(0o755, parents=True)
    monkeypatch.setattr(os, "getuid", lambda: STRANGER)
    with pytest.raises(ConfigurationError, match=rf" belongs to another user \({ours}\); name a folder of your own"):
        cache_folder()
    monkeypatch.delenv("ACKED_CACHE_DIR")
    assert cache_folder() is None
    assert f"belongs to another user ({ours})" in why_no_cache()


@pytest.mark.skipif(not IS_ROOT, reason="only the superuser can give files away")
@pytest.mark.parametrize("what", ["folder", "parent", "link"])
def test_what_a_stranger_has_put_in_the_way_is_refused(chosen: Path, tmp_path: Path, what: str) -> None:
    (tmp_path / "real").mkdir(0o700)
    if what == "link":
        chosen.symlink_to(tmp_path / "real")
        os.lchown(chosen, STRANGER, STRANGER)
    else:
        chosen.mkdir(0o755)
        os.chown(chosen if what == "folder" else tmp_path, STRANGER, STRANGER)
    place = tmp_path if what == "parent" else chosen
    with pytest.raises(ConfigurationError, match=rf"but {place} belongs to another user \({STRANGER}\)"):
        cache_folder()


# -- the key -----------------------------------------------------------------------------------------------------------


def test_the_key_is_made_once_and_is_away_from_the_cache(home: Path) -> None:
    folder = cache_folder()
    assert folder is not None
    key = cache_key(folder)
    assert len(key) == 32
    assert cache_key(folder) == key
    assert (home / ".local" / "state" / "acked" / "cache.key").read_text() == key.hex() + "\n"
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("damage", ["readable", "short", "garbage", "link", "pipe", "folder"])
def test_a_key_that_is_none_or_no_secret_is_made_anew(home: Path, damage: str) -> None:
    old = cache_key(home)
    path = home / ".local" / "state" / "acked" / "cache.key"
    if damage == "readable":
        path.chmod(0o644)
    elif damage in ("short", "garbage"):
        path.write_text(old.hex()[:20] if damage == "short" else "\x00 no key")
    else:
        path.unlink()
        {"link": lambda: path.symlink_to("/dev/null"), "pipe": lambda: os.mkfifo(path), "folder": path.mkdir}[damage]()
    new = cache_key(home)
    assert new != old
    if damage == "folder":  # It stays where it is; the key is in the cache.
        assert (home / "cache.key").read_text() == new.hex() + "\n"
    else:
        assert mode(path) == 0o600
    assert cache_key(home) == new


def test_where_there_is_no_place_for_a_key_it_is_in_the_cache(chosen: Path, home: Path) -> None:
    (home / ".local").write_text("")
    folder = cache_folder()
    assert folder == chosen
    key = cache_key(folder)
    assert (folder / "cache.key").read_text() == key.hex() + "\n"
    assert cache_key(folder) == key


def test_a_key_of_the_environment_is_taken_from_machine_to_machine(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = cache_key(tmp_path)
    monkeypatch.setenv("ACKED_CACHE_KEY", "a secret of sixteen letters")
    given = cache_key(tmp_path)
    SealedStore(tmp_path, given).write("x", b"content")
    monkeypatch.setenv("HOME", str(tmp_path / "elsewhere"))
    assert given not in (own, b"")
    assert SealedStore.of(tmp_path).read("x") == b"content"
    monkeypatch.setenv("ACKED_CACHE_KEY", "")  # as CI gives it to those who must not have the secret
    assert SealedStore.of(tmp_path).read("x") is None
    monkeypatch.setenv("ACKED_CACHE_KEY", "short")
    with pytest.raises(ConfigurationError, match="ACKED_CACHE_KEY has fewer than 16 characters"):
        cache_key(tmp_path)


@pytest.mark.parametrize("before", [None, "no key", "00" * 32], ids=["none", "no key", "open to others"])
def test_who_makes_a_key_at_once_agrees_on_it(home: Path, before: str | None) -> None:
    """Threads, which the lock keeps apart as it does processes: they start within microseconds of each other."""
    for at in range(40):
        folder, barrier = home / str(at), threading.Barrier(6)
        folder.mkdir()
        if before is not None:
            (folder / "cache.key").write_text(before)

        def ask(folder: Path = folder, barrier: threading.Barrier = barrier) -> bytes | None:
            barrier.wait(30)
            return cache._key_in(folder)

        with ThreadPoolExecutor(6) as pool:
            keys = {asked.result(30) for asked in [pool.submit(ask) for _ in range(6)]}
        assert len(keys) == 1
        assert None not in keys
        assert {path.name for path in folder.iterdir()} == {"cache.key"}


@pytest.mark.slow
def test_processes_that_make_a_key_at_once_agree_on_it(home: Path) -> None:
    asks = "from pathlib import Path; from acked.base.cache import cache_key; print(cache_key(Path('.')).hex())"
    command = [sys.executable, "-c", asks]
    started = [subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert len({process.communicate(timeout=60)[0] for process in started}) == 1


# -- entries -----------------------------------------------------------------------------------------------------------


def test_an_entry_is_believed_under_its_own_name_and_key_alone(tmp_path: Path) -> None:
    store = SealedStore(tmp_path, b"k" * 32)
    for name in ("a", "b"):
        store.write(name, name.encode() * 100)
    assert store.read("a") == b"a" * 100
    assert store.read("c") is None
    assert SealedStore(tmp_path, b"l" * 32).read("a") is None
    shutil.copy(store.path("b"), store.path("a"))
    with pytest.raises(NotOurs):
        store.read("a")
    assert "k" * 32 not in repr(store)


def test_every_byte_of_an_entry_is_guarded(tmp_path: Path) -> None:
    store = SealedStore(tmp_path, b"k" * 32)
    store.write("a", b"content")
    whole = store.path("a").read_bytes()
    for at in range(len(whole)):
        broken = bytearray(whole)
        broken[at] ^= 1 << at % 8
        store.path("a").write_bytes(broken)
        try:
            assert store.read("a") is None, at  # another key's, as it seems
        except NotOurs:
            pass


def test_an_entry_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    store = SealedStore(tmp_path, b"k" * 32)
    os.mkfifo(tmp_path / "a")
    with pytest.raises(OSError, match="named pipe"):
        store.read("a")


def small(bound: int) -> Question:
    return ask(counters(2, 3), always("Small", lambda s: s.n0 <= bound))


@pytest.mark.slow
@pytest.mark.parametrize("by", ["checksum", "another key"])
def test_compiled_code_of_somebody_else_is_not_loaded(chosen: Path, monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    """Code that never finds a violation, put where the code of the question belongs."""
    plan = small(2).plan
    sound = compile_kernel(plan)
    fake = dataclasses.replace(plan, state_violations=tuple(plan.instance.pool.false for _ in plan.state_violations))
    code = native.program_of(fake)
    assert code != sound.program
    name = f"{kernel_key(plan)}.program"
    if by == "checksum":
        (chosen / name).write_bytes(hashlib.sha256(code).digest() + code)
    else:
        SealedStore(chosen, b"k" * 32).write(name, code)
    assert compile_kernel(plan) == sound
    assert SealedStore.of(chosen).read(name) == sound.program


def forge(cache: Path) -> int:
    """Makes `holds` of every answer, with a checksum that fits; how many there were."""
    count = 0
    for path in (cache / "results" / "answers").glob("*.json"):
        head, _, body = path.read_bytes().partition(b"\n")
        entry = json.loads(body)
        entry["content"].update(verdict="holds", stopped="COMPLETE", violations=[])
        new = json.dumps(entry).encode()
        old_sum, new_sum = (hashlib.sha256(text).hexdigest().encode() for text in (body, new))
        path.write_bytes(head.replace(old_sum, new_sum) + b"\n" + new)
        count += 1
    return count


LOSES = TINY.replace("kip320", "truncate-to-hw").replace("log_size = 1\nmax_records = 1", "log_size = 2\nmax_records = 2")


@pytest.mark.slow
def test_a_forged_answer_does_not_turn_the_gate_green(tmp_path: Path) -> None:
    (tmp_path / "forged.toml").write_text(LOSES)
    cache = str(tmp_path / "cache")
    assert acked("gate", tmp_path / "forged.toml", ACKED_CACHE_DIR=cache).returncode == 1
    assert "(1 from the cache)" in acked("gate", tmp_path / "forged.toml", ACKED_CACHE_DIR=cache).stdout
    assert forge(Path(cache)) == 1
    again = acked("gate", tmp_path / "forged.toml", ACKED_CACHE_DIR=cache)
    assert again.returncode == 1, again.stdout
    assert "is damaged, or was edited or made without the key of this cache; it is not used" in " ".join(again.stdout.split())


def test_answers_under_another_key_are_passed_over_in_silence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ResultCache(tmp_path, "1")._write("memo", "key", "fingerprint")
    monkeypatch.setenv("ACKED_CACHE_KEY", "another key of the user's")
    other = ResultCache(tmp_path, "1")
    assert other._read("memo", "key") is None
    assert other.warnings == []


def test_a_result_cache_forgets_nothing_that_is_its_own(tmp_path: Path) -> None:
    cache = ResultCache(tmp_path, "1")
    cache._write("memo", "key", "fingerprint")
    assert ResultCache(tmp_path, "1")._read("memo", "key") == "fingerprint"
    for content in (b"[", b'{"key": "another", "content": 1}', b"3", b"{}"):
        SealedStore.of(tmp_path).write("memo/key.json", content)
        assert cache._read("memo", "key") is None
    assert len(cache.warnings) == 4


# -- the command -------------------------------------------------------------------------------------------------------

TINY = ("kip320", "-c", "replicas=1", "-c", "log_size=1", "-c", "max_records=1", "-c", "max_leader_epoch=0")


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("check", *TINY), ("gate", "kip320-2111"), ("gate", "kip320-2111", "--no-cache")])
def test_the_command_refuses_a_chosen_folder_that_others_may_write_to(chosen: Path, arguments: tuple[str, ...]) -> None:
    chosen.mkdir()
    chosen.chmod(0o777)
    assert_one_sentence(acked(*arguments), 151, "ACKED_CACHE_DIR", "others may write to", "name a folder of your own")
    assert list(chosen.iterdir()) == []


@pytest.mark.parametrize("arguments", [("check", *TINY), ("gate", "kip320-2111"), ("gate", "kip320-2111", "--no-cache")])
def test_the_command_refuses_a_key_that_could_be_guessed(
    home: Path, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ACKED_CACHE_KEY", "short")
    assert main([*arguments]) == 151
    assert "ACKED_CACHE_KEY has fewer than 16 characters; choose a longer secret" in capsys.readouterr().err


@pytest.mark.slow
def test_the_command_goes_on_without_the_usual_folder_and_says_so_once(home: Path) -> None:
    (home / ".cache").mkdir()
    (home / ".cache").chmod(0o777)
    done = acked("check", *TINY, "--quiet")
    assert done.returncode == 0
    assert done.stderr.startswith("warning: nothing is cached, because others may write to")
    assert done.stderr.count("\n") == 1
    assert list((home / ".cache").iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(not IS_ROOT, reason="only the superuser can be somebody else")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="no setpriv")
def test_a_user_without_a_home_is_answered_and_leaves_nothing_in_the_shared_folder() -> None:
    """As in a container that runs under a number; the folder was a name in /tmp that anybody could make first."""
    command = ["setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups", str(COMMAND)]
    with tempfile.TemporaryDirectory() as name:
        shared = Path(name)
        shared.chmod(0o1777)
        planted = shared / f"acked-{STRANGER}"
        planted.mkdir()
        planted.chmod(0o777)
        told = {"TMPDIR": name, "PATH": os.environ["PATH"]}
        if subprocess.run([*command, "--version"], env=told, cwd="/", capture_output=True, check=False).returncode:
            pytest.skip("another user cannot run this installation")
        asked = [*command, "check", *TINY, "--quiet"]
        done = subprocess.run(asked, env=told, cwd="/", capture_output=True, text=True, timeout=300, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert [path.name for path in shared.iterdir()] == [planted.name]
        assert list(planted.iterdir()) == []


def test_a_hash_of_sources_tells_names_and_texts_apart_and_counts_data_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acked.base.sources.PACKAGE", tmp_path)
    (tmp_path / "room" / "__pycache__").mkdir(parents=True)
    rules = tmp_path / "room" / "rules.toml"
    seen = [sources_hash.__wrapped__(["room"])]
    for change in (
        lambda: rules.write_text("on = 1"),
        lambda: rules.write_text("on = 2"),
        lambda: rules.rename(rules.with_stem("other")),
        lambda: (tmp_path / "room" / "code.py").write_text(""),
    ):
        change()
        seen.append(sources_hash.__wrapped__(["room"]))
    assert len(set(seen)) == len(seen)
    (tmp_path / "room" / "__pycache__" / "code.pyc").write_text("compiled")
    assert sources_hash.__wrapped__(["room"]) == seen[-1]


def test_a_hash_of_sources_is_kept_until_the_system_says_that_a_file_was_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acked.base.sources.PACKAGE", tmp_path)
    monkeypatch.setattr("acked.base.sources._SETTLED", -1.0)
    monkeypatch.setenv("ACKED_CACHE_DIR", str(tmp_path / "cache"))
    rules = tmp_path / "room" / "rules.toml"
    rules.parent.mkdir()
    rules.write_text("on = 1")
    first = sources_hash.__wrapped__(["room"])
    [kept] = (tmp_path / "cache" / "sources").iterdir()
    with monkeypatch.context() as unread:
        unread.setattr("acked.base.sources.open", None, raising=False)
        assert sources_hash.__wrapped__(["room"]) == first
    kept.write_bytes(kept.read_bytes()[:-1] + b"?")
    assert sources_hash.__wrapped__(["room"]) == first
    rules.write_text("on = 10")
    assert sources_hash.__wrapped__(["room"]) != first
