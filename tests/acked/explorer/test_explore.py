"""The explorer answers its own page and refuses everything else, each time with one sentence."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acked.checker.explore.nearest import Nearest
from acked.checker.question.question import Question
from acked.checker.search.local import search
from acked.explorer.server import MAX_BODY_BYTES, UNKNOWN, ExplorerServer, page_of, user_behind
from acked.explorer.session import RequestRefused, Walk
from acked.invariants.catalogue import properties_of
from acked.model.catalogue import PROTOCOLS
from acked.reports.shell.specs import find_spec
from tests.e2e.driver import COMMAND, acked, environment, heed_interrupts

SMALL = {"replicas": 2, "log_size": 2, "max_records": 2, "max_leader_epoch": 1}


@pytest.fixture(scope="module")
def walk() -> Walk:
    protocol = PROTOCOLS["kip320"]
    return Walk("small", Question(protocol.instantiate(SMALL), (properties_of(protocol)["WeakIsr"],)))


@pytest.fixture(scope="module")
def server(walk: Walk) -> Iterator[ExplorerServer]:
    with ExplorerServer(0, walk, lambda token: f"<p>{token}</p>") as listening:
        thread = threading.Thread(target=listening.serve_forever, args=(0.05,))
        thread.start()
        yield listening
        listening.shutdown()
        thread.join()


def ask(
    server: ExplorerServer, method: str, path: str, body: bytes | None = None, **headers: str | None
) -> tuple[int, Any, dict[str, str]]:
    """One request with the right headers, but for those given (None leaves one out)."""
    sent = {"Host": server.hosts[0], "X-Acked-Token": server.token, "Content-Type": "application/json"}
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    connection.putrequest(method, path, skip_host=True)
    for name, value in {**sent, **given}.items():
        if value is not None:
            connection.putheader(name, value)
    if body is not None and "Content-Length" not in given:
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    found = dict(answer.getheaders())
    return answer.status, json.loads(text) if found.get("Content-Type") == "application/json" else text, found


def post(server: ExplorerServer, what: str, body: Any, **headers: str | None) -> tuple[int, Any]:
    status, answer, _ = ask(server, "POST", f"/api/{what}", json.dumps(body).encode(), **headers)
    return status, answer


def test_the_page_needs_the_token_and_comes_with_strict_headers(server: ExplorerServer) -> None:
    status, text, headers = ask(server, "GET", f"/?token={server.token}")
    assert (status, text) == (200, f"<p>{server.token}</p>")
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"
    for path in ("/", "/?token=", "/?token=wrong"):
        status, answer, _ = ask(server, "GET", path)
        assert status == 403
        assert "token" in answer["error"]


@pytest.mark.parametrize("path", ["/../../etc/passwd", "/style.css", "/%2e%2e/pyproject.toml", "//etc/passwd", "/api/depth"])
def test_no_path_leads_to_a_file(server: ExplorerServer, path: str) -> None:
    status, answer, _ = ask(server, "GET", f"{path}?token={server.token}")
    assert status == 404
    assert "only one page" in answer["error"]


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1.evil.example:1", "", None])
def test_a_foreign_host_is_refused(server: ExplorerServer, host: str | None) -> None:
    assert ask(server, "GET", f"/?token={server.token}", Host=host)[0] == 421
    assert post(server, "depth", {"path": []}, Host=host)[0] == 421


def test_a_request_without_the_token_is_refused(server: ExplorerServer) -> None:
    for token in (None, "", "wrong", server.token[:-1]):
        status, answer = post(server, "depth", {"path": []}, X_Acked_Token=token)
        assert (status, "token" in answer["error"]) == (403, True)


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1"])
def test_a_request_of_another_page_is_refused(server: ExplorerServer, origin: str) -> None:
    assert post(server, "depth", {"path": []}, Origin=origin)[0] == 403
    assert post(server, "depth", {"path": []}, Sec_Fetch_Site="cross-site")[0] == 403
    assert post(server, "depth", {"path": []}, Origin=f"http://{server.hosts[1]}")[0] == 200


def test_a_body_that_is_too_large_or_no_json_is_refused(server: ExplorerServer) -> None:
    assert ask(server, "POST", "/api/depth", b"", Content_Length=str(MAX_BODY_BYTES + 1))[0] == 413
    assert ask(server, "POST", "/api/depth", b"{}", Content_Length="-1")[0] == 411
    assert ask(server, "POST", "/api/depth", b"nonsense")[0] == 400
    assert ask(server, "POST", "/api/depth", b"[" * 100_000)[0] == 400
    assert ask(server, "POST", "/api/depth", b"[1]")[0] == 400
    assert ask(server, "POST", "/api/depth", b"{}", Content_Type="text/plain")[0] == 415
    assert ask(server, "POST", "/api/nonsense", b"{}")[0] == 404
    assert ask(server, "DELETE", "/", b"{}")[0] == 501


OURS = ("Cache-Control", "Cross-Origin-Resource-Policy", "Referrer-Policy", "X-Content-Type-Options", "X-Frame-Options")
"""Headers that every answer has."""


def raw(server: ExplorerServer, text: str) -> tuple[int, dict[str, str], bytes]:
    """The answer to a request that is sent as it is written; $HOST and $TOKEN are the right ones."""
    for name, value in (("$HOST", server.hosts[0]), ("$TOKEN", server.token)):
        text = text.replace(name, value)
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=30) as connection:
        connection.sendall(text.encode("latin-1"))
        answer = http.client.HTTPResponse(connection, method=text.partition(" ")[0])
        answer.begin()
        return answer.status, dict(answer.getheaders()), answer.read()


POST = "POST /api/depth HTTP/1.1\r\nHost: $HOST\r\nX-Acked-Token: $TOKEN\r\nContent-Type: application/json\r\n"
BODY = 'Content-Length: 12\r\n\r\n{"path": []}'
ODD: dict[str, tuple[str, int]] = {
    "PUT": ("PUT / HTTP/1.1\r\nHost: $HOST\r\n\r\n", 501),
    "HEAD": ("HEAD / HTTP/1.1\r\nHost: $HOST\r\n\r\n", 501),
    "OPTIONS": ("OPTIONS * HTTP/1.1\r\nHost: $HOST\r\n\r\n", 501),
    "markup": ("<script>alert(1)</script> / HTTP/1.1\r\nHost: $HOST\r\n\r\n", 501),
    "no-request": ("nonsense\r\n\r\n", 400),
    "four-words": ("GET / / HTTP/1.1\r\n\r\n", 400),
    "version-3": ("GET / HTTP/3.0\r\n\r\n", 505),
    "version-0.9": ("GET /\r\n\r\n", 421),
    "long-line": (f"GET /{'x' * 70_000} HTTP/1.1\r\n\r\n", 414),
    "long-header": (f"GET / HTTP/1.1\r\nHost: {'x' * 70_000}\r\n\r\n", 431),
    "many-headers": ("GET / HTTP/1.1\r\n" + "a: b\r\n" * 200 + "\r\n", 431),
    "two-hosts": ("GET /?token=$TOKEN HTTP/1.1\r\nHost: $HOST\r\nHost: evil.example\r\n\r\n", 400),
    "two-origins": (POST + "Origin: http://$HOST\r\nOrigin: http://evil.example\r\n" + BODY, 400),
    "two-tokens": (POST + "X-Acked-Token: x\r\n" + BODY, 400),
    "two-lengths": (POST + "Content-Length: 12\r\n" + BODY, 400),
    "chunked": (POST + "Transfer-Encoding: chunked\r\n" + BODY, 411),
    "no-length": (POST + "\r\n", 411),
    "5000-digits": (POST + f"Content-Length: {'9' * 5000}\r\n\r\n{{}}", 413),
    "zeros": (POST + f"Content-Length: {'0' * 5000}2\r\n\r\n{{}}", 413),
    "wrong-once": ("GET /?once=x HTTP/1.1\r\nHost: $HOST\r\n\r\n", 403),
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_request_is_answered_in_our_words_and_with_our_headers(server: ExplorerServer, name: str) -> None:
    text, expected = ODD[name]
    status, headers, body = raw(server, text)
    assert status == expected
    assert all(header in headers for header in OURS), headers
    assert headers["Content-Type"] == "application/json"
    if name == "HEAD":
        assert body == b""
    else:
        assert set(json.loads(body)) == {"error"}
    assert post(server, "depth", {"path": []})[0] == 200


def test_an_invitation_leads_to_the_page_once(server: ExplorerServer) -> None:
    first, second = server.invite(), server.invite()
    assert server.token not in second
    for address, expected in ((first, 403), (second, 303), (second, 403)):
        status, headers, _ = raw(server, f"GET {address.partition(server.hosts[0])[2]} HTTP/1.1\r\nHost: $HOST\r\n\r\n")
        assert status == expected
        assert headers.get("Location") == (server.address if expected == 303 else None)


def test_an_invitation_is_good_for_two_minutes(server: ExplorerServer, monkeypatch: pytest.MonkeyPatch) -> None:
    code = server.invite().partition("once=")[2]
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 121)
    assert not server.accept(code, ("127.0.0.1", 1))


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_the_system_tells_whose_a_connection_is(server: ExplorerServer, family: socket.AddressFamily) -> None:
    if user_behind(("127.0.0.1", 1), ("127.0.0.1", 1)) is None:
        pytest.skip("this system does not tell")
    with socket.socket(family) as connection:
        try:
            connection.connect(("::ffff:127.0.0.1" if family == socket.AF_INET6 else "127.0.0.1", server.server_port))
        except OSError:
            pytest.skip("no such addresses here")
        port = connection.getsockname()[1]
        assert user_behind(("127.0.0.1", port), ("127.0.0.1", server.server_port)) == os.getuid()
        assert user_behind(("127.0.0.1", server.server_port), ("127.0.0.1", port)) in (os.getuid(), UNKNOWN)
    assert user_behind(("127.0.0.1", port), ("127.0.0.1", server.server_port)) == UNKNOWN


@pytest.mark.parametrize(("user", "is_let_in"), [(0, True), (54321, False), (UNKNOWN, False), (None, True)])
def test_an_invitation_is_for_the_same_user(
    server: ExplorerServer, user: int | None, is_let_in: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = server.invite().partition("once=")[2]
    monkeypatch.setattr("acked.explorer.server.user_behind", lambda *_: user)
    assert server.accept(code, ("127.0.0.1", 1)) is is_let_in
    if not is_let_in:  # and whoever was meant is not shut out
        monkeypatch.setattr("acked.explorer.server.user_behind", lambda *_: os.getuid())
        assert server.accept(code, ("127.0.0.1", 1))


@pytest.mark.slow
def test_a_browser_is_started_without_the_token(tmp_path: Path) -> None:
    """A stand-in for one, which notes its command line and opens what it is given."""
    browser, seen = tmp_path / "browser", tmp_path / "seen"
    browser.write_text(
        f"#!{sys.executable}\nimport os, sys, urllib.request\n"
        "page = urllib.request.urlopen(sys.argv[1])\n"
        f"open({str(seen) + '.part'!r}, 'w').write('\\n'.join([*sys.argv[1:], page.url]))\n"
        f"os.rename({str(seen) + '.part'!r}, {str(seen)!r})\n"
    )
    browser.chmod(0o755)
    command = [COMMAND, "explore", "kip320-2111", "--open"]
    with subprocess.Popen(
        command, env=environment(BROWSER=str(browser)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        end = time.monotonic() + 60
        while not seen.exists() and time.monotonic() < end:
            time.sleep(0.05)
        process.terminate()
        _, errors = process.communicate(timeout=60)
    assert seen.exists(), errors
    given, reached = seen.read_text().splitlines()
    token = address.partition("token=")[2]
    assert len(token) > 20
    assert token not in given
    assert reached == address


@pytest.mark.parametrize("path", [[999], [-1], ["0"], [True], [0.5], "0", None, [[0]], {"0": 1}, [0] * 6000])
def test_unknown_actions_are_refused(server: ExplorerServer, path: Any) -> None:
    status, answer = post(server, "depth", {"path": path})
    assert status == 400
    assert "path" in answer["error"] or "no action" in answer["error"]


def test_disabled_actions_are_refused_with_the_clause(server: ExplorerServer, walk: Walk) -> None:
    number = next(at for at, step in enumerate(walk.question.instance.actions) if step.action.name == "LeaderWrite")
    status, answer = post(server, "depth", {"path": [0, number]})
    assert status == 409
    assert "step 2: LeaderWrite(leader=0) is not enabled, “presumes leadership” does not hold" in answer["error"]


def test_the_nearest_state_is_found_by_search_from_where_one_is(server: ExplorerServer, walk: Walk) -> None:
    status, answer = post(server, "find", {"path": [], "predicate": "replica[0].hw == 1 and replica[1].leader == 0"})
    assert (status, answer["says"]) == (200, "found 6 steps away")
    onwards = post(server, "find", {"path": answer["path"], "predicate": "log[0].end == 2"})[1]
    assert onwards["path"][:6] == answer["path"]
    assert len(onwards["path"]) == 7
    status, answer = post(server, "find", {"path": [], "predicate": "replica[0].hw > log[0].end"})
    assert answer["path"] is None
    assert "unreachable from here: none of the" in answer["says"]
    status, answer = post(server, "find", {"path": [], "predicate": "quorm.isr == {0}"})
    assert status == 200
    assert "did you mean quorum?" in answer["refused"]
    for body in ({"predicate": 1}, {"promise": "Nothing"}, {"predicate": None, "promise": "WeakIsr"}):
        assert post(server, "find", {"path": [], **body})[0] == (200 if body.get("promise") == "WeakIsr" else 400)


def test_the_nearest_step_that_breaks_a_promise_is_the_shortest_counterexample_from_there() -> None:
    spec = find_spec("truncate-to-hw")
    walk = Walk(spec.title, spec.question())
    shortest = search(walk.question).violations[0]
    found = walk.answer("find", {"path": [], "promise": None})
    steps = len(shortest.run.actions)
    assert found["says"] == f"{shortest.property.name} is broken {steps} steps from here"
    numbers = {id(step): number for number, step in enumerate(walk.question.instance.actions)}
    assert found["path"] == [numbers[id(step)] for step in shortest.run.actions]
    begun = found["path"][:3]  # type: ignore[index]
    assert walk.answer("find", {"path": begun, "promise": shortest.property.name})["path"] == found["path"]


def test_of_a_promise_that_is_kept_every_state_that_can_follow_is_seen(server: ExplorerServer) -> None:
    answer = post(server, "find", {"path": [], "promise": "WeakIsr"})[1]
    assert answer == {"path": None, "says": "unreachable from here: none of the 957 states that can follow breaks it"}


@pytest.mark.slow
def test_a_predicate_of_very_many_parts_is_refused_at_once(server: ExplorerServer) -> None:
    body = " + ".join(["log[0].end", "log[1].end", "replica[0].hw"] * 12)
    for text in (
        "any(log[0].end==a for a in range(49999))",
        f"count({body} == a - b for a in range(300) for b in range(160)) == 3",
        f"all(all({body} == d for a in replicas for b in replicas for d in range(200)) for e in range(200))",
    ):
        begun = time.process_time()
        status, answer = post(server, "find", {"path": [], "predicate": text})
        assert (status, "this has more than 20,000 parts; quantify over less" in answer["refused"]) == (200, True)
        assert time.process_time() - begun < 2


def test_others_are_answered_while_a_state_is_looked_for(server: ExplorerServer, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, end = threading.Event(), threading.Event()

    def slow(*_: object, **__: object) -> Nearest:
        begun.set()
        assert end.wait(60)
        return Nearest(None, True, 1)

    monkeypatch.setattr("acked.explorer.session.nearest", slow)
    found: list[Any] = []
    looking = threading.Thread(target=lambda: found.append(post(server, "find", {"path": [], "predicate": "True"})))
    looking.start()
    assert begun.wait(60)
    assert post(server, "depth", {"path": []})[0] == 200
    assert found == []
    end.set()
    looking.join(60)
    assert found[0][0] == 200


def test_the_depth_of_a_state_is_the_shortest_way_to_it(server: ExplorerServer) -> None:
    found = post(server, "find", {"path": [], "predicate": "replica[0].hw == 1"})[1]["path"]
    asked = post(server, "depth", {"path": found})[1]
    assert (asked["least"], asked["most"]) == (len(found), len(found))
    assert post(server, "depth", {"path": [999]})[0] == 400


@pytest.mark.slow
@pytest.mark.parametrize("name", ["kip320-large", "gallery/kip320-latest"])
def test_the_largest_specs_start_without_any_search(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Millions of states each: nothing is computed before somebody looks."""

    def never(*_: object) -> None:
        raise AssertionError("the page needs no search, and no step")

    monkeypatch.setattr("acked.checker.search.local.LocalSearch.__init__", never)
    monkeypatch.setattr("acked.model.language.protocol.Instance.fire", never)
    spec = find_spec(name)
    assert spec.expect is not None
    assert (spec.expect.distinct_states or 0) > 2_000_000
    assert "Take an action" in page_of(Walk(spec.title, spec.question()), "token")


def test_a_walk_refuses_by_itself_what_no_page_sends(walk: Walk) -> None:
    with pytest.raises(RequestRefused, match="not a JSON object"):
        walk.answer("find", [])


@pytest.mark.slow
def test_the_command_prints_the_address_and_ends_at_ctrl_c() -> None:
    command = [COMMAND, "explore", "kip320-large"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, env=environment(), stdout=pipe, stderr=pipe, text=True, preexec_fn=heed_interrupts
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        port = int(address.split(":")[2].split("/")[0])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", address.partition(str(port))[2])
        assert b"acked" in connection.getresponse().read()
        connection.close()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert errors.splitlines()[-1] == "closed"
    assert "Traceback" not in errors


@pytest.mark.slow
def test_a_port_that_is_taken_is_one_sentence(server: ExplorerServer) -> None:
    done = subprocess.run(
        [COMMAND, "explore", "kip320", "--port", str(server.server_port)],
        env=environment(), capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 153
    assert done.stderr.startswith(f"acked: cannot listen on port {server.server_port}")


@pytest.mark.slow
def test_a_page_without_a_server_is_one_file_that_has_no_token(tmp_path: Path) -> None:
    done = acked("explore", "partition", "-o", "page.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "page.html").read_text("utf-8")
    assert len(text) < 300_000
    assert "connect-src" not in text
    assert "token" not in text.partition('id="data"')[2].partition("</script>")[0]
    refused = acked("explore", "truncate-to-hw", "-o", "other.html", "--open", cwd=tmp_path)
    assert refused.returncode != 0
    assert "leave out --port and --open" in refused.stderr
    assert not (tmp_path / "other.html").exists()
