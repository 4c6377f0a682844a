"""`acked mcp`, asked by the SDK's own client: ten questions about durability, and what agents may not do."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from tests.checker.spark.spark_cluster import command_of, descendants
from tests.e2e.driver import TINY, acked
from tests.places import CHECKOUT

if TYPE_CHECKING:
    from tests.acked.commands.agent import Agent

pytestmark = pytest.mark.slow

SAFE = "min.insync.replicas=2\ndefault.replication.factor=3\n"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("agents") / "root"
    folder.mkdir()
    (folder / "server.properties").write_text(SAFE)
    (folder / "tiny.toml").write_text(TINY)
    (folder.parent / "outside.toml").write_text(TINY)
    (folder / "link.toml").symlink_to("../outside.toml")
    (folder / "own.py").write_text("from pathlib import Path\nPath(__file__).with_name('ran').touch()\n")
    (folder / "own.toml").write_text(TINY.replace('"kip320"', '"own.py:own"'))
    return folder


@pytest.fixture(scope="module")
def serving(commands: Path, root: Path) -> Callable[..., Agent]:
    """A server with these options, and its client."""
    from tests.acked.commands.agent import Agent

    return partial(Agent, commands, root)


@pytest.fixture(scope="module")
def agent(serving: Callable[..., Agent]) -> Iterator[Agent]:
    with serving() as found:
        yield found


# -- ten questions --------------------------------------------------------------------------------------------------------

DECIDED = {"ask": "loss", "faults": ["clean"], "advice": False}


def test_may_a_record_that_one_broker_acknowledged_be_lost(agent: Agent) -> None:
    code, answer = agent.ask("audit", set=["acks=1", "replication.factor=3"], kafka_version="4.1", **DECIDED)
    assert (code, answer["required"], answer["verdict"]) == (12, ["loss"], "yes")


def test_are_three_replicas_of_which_two_must_acknowledge_safe_from_crashes(agent: Agent) -> None:
    code, answer = agent.ask("audit", files=["server.properties"], producer=["acks=all"], kafka_version="4.1", **DECIDED)
    assert (code, answer["required"], answer["verdict"]) == (0, ["loss"], "no")


def test_may_a_broker_go_down_while_another_one_is(agent: Agent, root: Path) -> None:
    shutil.copy(CHECKOUT / "tests" / "data" / "roll" / "4.3" / "one-down.txt", root)
    code, _ = agent.ask("roll", files=["one-down.txt"], kafka_version="4.3", ask="writes", stop="clean")
    assert code == 12


def test_which_lines_of_a_file_were_read(agent: Agent) -> None:
    _, answer = agent.ask("audit", files=["server.properties"], show_settings=True)
    assert {("min.insync.replicas", 1), ("default.replication.factor", 2)} <= {
        (one["key"], one["line"]) for one in answer["settings"]
    }


def test_does_cutting_to_the_high_watermark_lose_records(agent: Agent) -> None:
    code, answer = agent.ask("check", spec="truncate-to-hw")
    assert (code, answer["verdict"], answer["violations"][0]["trace_length"]) == (12, "violated", 9)


def test_how_does_it_lose_them_in_sentences(agent: Agent) -> None:
    code, answer = agent.ask("explain", spec="truncate-to-hw")
    assert code == 12
    assert "What would have prevented it: kip101" in answer
    assert "the controller elects broker 0 as leader in epoch 0" in answer


def test_does_a_spec_hold_that_the_agent_wrote_from_a_bundled_one(agent: Agent) -> None:
    text = agent.read("acked://spec/kip320").partition("[expect]")[0]
    code, answer = agent.ask("check", spec=text, constant=["replicas=2", "log_size=1", "max_records=1", "max_leader_epoch=1"])
    assert (code, answer["verdict"], answer["distinct_states"]) == (0, "holds", 277)


def test_what_does_one_set_of_rules_allow_that_the_next_forbids(agent: Agent) -> None:
    small = ["replicas=2", "log_size=2", "max_records=2", "max_leader_epoch=1"]
    code, answer = agent.ask("diff", first="truncate-to-hw", second="kip101", constant=small)
    assert code == 1
    assert answer["sides"][0]["only_here"]["steps"]


def test_which_losses_of_todays_kafka_are_known(agent: Agent) -> None:
    code, answer = agent.ask("list", what="found")
    assert code == 0
    assert answer == json.loads(agent.read("acked://found"))
    assert "stale-log-ends" in [one["id"] for one in answer["found"]]


def test_what_is_claimed_of_acknowledgements_by_one_broker(agent: Agent) -> None:
    claims = json.loads(agent.read("acked://claims"))["specs"]
    [claim] = [one for one in claims if one["name"] == "acks-1-loses"]
    assert "violated" in claim["expected"]
    assert json.loads(agent.read("acked://gallery"))["specs"]


def test_a_search_that_a_bound_ended_is_no_answer(agent: Agent) -> None:
    code, answer = agent.ask("check", spec="kip320", max_states=100)
    assert (code, answer["verdict"], answer["stopped"]) == (152, "incomplete", "max_states")


# -- what agents may not do -------------------------------------------------------------------------------------------------


def test_tools_are_read_only_and_say_what_they_take(agent: Agent) -> None:
    tools = agent.tools()
    assert set(tools) == {"audit", "roll", "check", "explain", "diff", "list"}
    for tool in tools.values():
        assert tool.annotations.read_only_hint
        assert all(item["description"] for item in tool.input_schema["properties"].values())
    assert "running_cluster" not in tools["audit"].input_schema["properties"]


def test_brokers_are_started_only_if_the_user_said_so(agent: Agent, serving: Callable[..., Agent]) -> None:
    assert agent.refused("reproduce", spec="acks-1-loses", kafka="4.1.0") == "there is no tool reproduce"
    with serving("--allow-brokers") as other:
        assert other.tools()["reproduce"].annotations.read_only_hint is False


def test_of_running_clusters_only_the_one_that_the_user_named_is_asked(serving: Callable[..., Agent]) -> None:
    with serving("--bootstrap-server", "127.0.0.1:9") as other:
        sentence = other.refused("audit", running_cluster=True, ask="loss")
        assert "127.0.0.1:9" in sentence
        assert "not of type 'boolean'" in other.refused("audit", running_cluster="elsewhere:9092")


def test_a_protocol_of_python_is_run_only_if_the_user_said_so(
    agent: Agent, serving: Callable[..., Agent], root: Path
) -> None:
    sentence = "the spec would run own.py:own, a file of Python; see `acked mcp --trust`"
    assert agent.refused("check", spec="own.toml") == sentence
    assert agent.refused("explain", spec=(root / "own.toml").read_text()) == sentence
    assert not (root / "ran").exists()
    with serving("--trust") as other:
        assert "own" in other.refused("check", spec="own.toml")
    assert (root / "ran").exists()


@pytest.mark.parametrize("name", ["../outside.toml", "link.toml"])
def test_files_outside_the_root_are_not_read(agent: Agent, root: Path, name: str) -> None:
    sentence = f"{name} is not below {root}, where this server reads; see `acked mcp --root`"
    assert agent.refused("check", spec=name) == sentence
    assert agent.refused("audit", files=[name]) == sentence


def test_what_an_agent_writes_is_no_option_of_the_command(agent: Agent) -> None:
    assert "no bundled spec" in agent.refused("check", spec="--help")
    sentence = agent.refused("audit", files=["server.properties"], topic="--show-settings")
    assert "no file describes a topic '--show-settings'" in sentence
    assert agent.refused("check", spec="kip320", trace_out="x.json").endswith("('trace_out' was unexpected)")
    assert agent.refused("check") == "$: 'spec' is a required property"


def test_errors_name_the_file_as_the_agent_does(agent: Agent) -> None:
    assert agent.refused("check", spec=TINY.replace("log_size = 1\n", "")).startswith("spec.toml:3: kip320 needs")
    from mcp import MCPError

    with pytest.raises(MCPError, match="there is no resource acked://nothing; choose from"):
        agent.read("acked://nothing")


# -- bounds -----------------------------------------------------------------------------------------------------------------


def large(root: Path) -> str:
    """The name of a spec of a search that takes long, with a title by which its process is known."""
    text = TINY.partition("[expect]")[0].replace("replicas = 2", "replicas = 3").replace("= 1\n", "= 3\n")
    (root / "large.toml").write_text(text)
    return "large.toml"


def test_a_question_ends_with_its_time(serving: Callable[..., Agent], root: Path) -> None:
    with serving("--time-limit", "3") as other:
        started = time.monotonic()
        sentence = other.refused("check", spec=large(root))
        assert sentence == "there is no answer after 3 seconds; ask for less, or see `acked mcp --time-limit`"
        assert time.monotonic() - started < 30
        assert other.ask("list", what="protocols")[0] == 0, "the next question is answered"


def test_who_waits_is_told_that_the_question_is_under_way(agent: Agent, root: Path) -> None:
    told: list[str | None] = []
    scopes: list[anyio.CancelScope] = []

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)
        scopes[0].cancel()

    async def ask() -> None:
        with anyio.move_on_after(30) as scope:
            scopes.append(scope)
            await agent.client.call_tool("check", {"spec": large(root)}, progress_callback=tell)

    agent.portal.call(ask)
    assert told
    assert told[0] == "check: 2 s"
    assert agent.ask("list", what="protocols")[0] == 0, "a question that the client takes back is ended"


@pytest.mark.parametrize("ending", [pytest.param("stdin", marks=pytest.mark.long), "signal"])
def test_with_the_server_ends_what_it_started(root: Path, ending: str) -> None:
    program = "import sys; sys.modules['rfc3987_syntax'] = None; from acked.__main__ import main; sys.exit(main())"
    command = [sys.executable, "-P", "-c", program, "mcp", "--root", root]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        asked = {"name": "check", "arguments": {"spec": large(root)}}
        for number, (method, params) in enumerate([("initialize", hello), ("tools/call", asked)]):
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            print(json.dumps(message), file=server.stdin, flush=True)
        end = time.monotonic() + 60
        while not (running := [pid for pid in descendants(server.pid) if "large.toml" in command_of(pid)]):
            assert time.monotonic() < end
            time.sleep(0.1)
        [pid] = running
        if ending == "stdin":
            server.stdin.close()
        else:
            server.send_signal(signal.SIGTERM)
        server.wait(60)
    assert not Path(f"/proc/{pid}").exists()
    assert server.returncode == (0 if ending == "stdin" else 130)


def test_without_the_sdk_the_command_names_its_extra(tmp_path: Path) -> None:
    missing = "sys.modules |= {'mcp': None, 'rfc3987_syntax': None}"
    program = f"import sys; {missing}; from acked.cli import main; sys.exit(main(['mcp']))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 153
    assert done.stderr == "acked: mcp is needed for serving agents; install it with `pip install mcp`\n"


def test_properties_for_no_cluster_are_refused() -> None:
    done = acked("mcp", "--command-config", "x.properties")
    sentence = "acked: --command-config is about a running cluster; name it with --bootstrap-server\n"
    assert (done.returncode, done.stderr) == (151, sentence)
