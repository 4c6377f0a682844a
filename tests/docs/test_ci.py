"""The workflows, hooks, pytest settings and the action that docs/ci.md shows are run as they stand, in a project of a user.

The wheel is built from this checkout, and pip finds it where the environment says, so that the installation step is the
documented one.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.building import archives_of_the_checkout
from tests.kept import lend
from tests.places import CHECKOUT
from tests.sharing import made_once

TEXT = (CHECKOUT / "docs" / "ci.md").read_text("utf-8")

pytestmark = pytest.mark.slow


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A user's project: a spec, tests, and folders that are called like ours."""
    place = tmp_path / "project"
    for name in ("model", "reports", "specs", "tests"):
        (place / name).mkdir(parents=True)
    for name in ("model", "reports"):
        (place / name / "__init__.py").write_text('OWNER = "the user"\n', "utf-8")
    (place / "tests" / "test_own.py").write_text(
        "import model, reports\n\ndef test_own_folders():\n    assert model.OWNER == reports.OWNER == 'the user'\n", "utf-8"
    )
    shutil.copy(CHECKOUT / "specs/counts/kip320-2111.toml", place / "specs")
    shutil.copy(CHECKOUT / "specs/answers/truncate-to-hw-2221-weak.toml", place / "specs")
    return place


def break_it(project: Path) -> None:
    path = project / "specs" / "truncate-to-hw-2221-weak.toml"
    text = path.read_text("utf-8").partition("[expect]")[0]
    path.write_text(text + '[expect]\nverdict = "holds"\n', "utf-8")


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment into which the workflow's step has put this checkout's wheel, not an address; the rest was there."""
    dist = archives_of_the_checkout(tmp_path_factory).wheel.parent
    place = dist.with_name("ci")  # Its scripts name their place, so it is made where it stays.
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHON", "GITHUB", "ACKED"))}
    kept["PATH"] = str(place / "venv" / "bin") + os.pathsep + kept["PATH"]
    environment = kept | {
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(dist),
        "PIP_NO_DEPS": "1",
        "PIP_IGNORE_INSTALLED": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_COMPILE": "1",  # What is imported is compiled then, which is not all.
        "ACKED_CACHE_DIR": str(place / "cache"),
        "ACKED": "acked",
    }

    def install(_: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place / "venv")], check=True, capture_output=True)
        pip = place / "venv" / "bin" / "pip"
        pip.write_text('#!/bin/sh\nexec "${0%/*}/python" -m pip "$@"\n', "utf-8")  # pip, too, is here already.
        pip.chmod(0o755)
        site = next((place / "venv").rglob("site-packages"))
        # What acked needs is here already, but acked itself must come from the wheel: its own packages are found first.
        (site / "zz_needed.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
        (place / "cache").mkdir(mode=0o700)
        lend(place / "cache")
        step = next(step for step in steps() if step.get("name") == "Install")
        done = run(step["run"], place, environment)
        assert done.returncode == 0, done.stdout + done.stderr

    made_once(tmp_path_factory, "installed", install)
    where = run("python -P -c 'import acked; print(acked.__file__)'", place, environment).stdout
    assert where
    assert str(CHECKOUT / "acked") not in where
    return environment


@pytest.fixture(params=["forked", pytest.param("installed", marks=pytest.mark.landing)])
def at_hand(
    request: pytest.FixtureRequest, commands: Path, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> dict[str, str]:
    """An environment in which `acked` is forked, as if pip had installed it, or in which the workflow's step has done so."""
    if request.param == "installed":
        found: dict[str, str] = request.getfixturevalue("installed")
        return found
    cache = made_once(tmp_path_factory, "cache-ci", lend)
    cache.chmod(0o700)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHON", "GITHUB", "ACKED"))}
    (tmp_path / "python").write_text(f'#!/bin/sh\n[ "$1 $2" = "-m pip" ] || exec "{sys.executable}" "$@"\n', "utf-8")
    (tmp_path / "python").chmod(0o755)
    path = os.pathsep.join([str(tmp_path), str(commands), sysconfig.get_path("scripts"), kept["PATH"]])
    return kept | {"PATH": path, "ACKED_CACHE_DIR": str(cache)}


def run(command: str, project: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-e", "-c", command], cwd=project, env=environment, capture_output=True, text=True, timeout=600, check=False
    )


def steps(job: str = "gate") -> list[dict[str, Any]]:
    jobs = [yaml.safe_load(block)["jobs"] for block in blocks("yaml") if "jobs:" in block]
    [listed] = [each[job]["steps"] for each in jobs if job in each]
    return list(listed)


def test_the_steps_of_the_workflow_are_green_for_a_sound_project_and_red_for_a_broken_one(
    project: Path, at_hand: dict[str, str]
) -> None:
    environment = at_hand | {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(project / "summary.md")}
    gate = next(step for step in steps() if step.get("name") == "Gate")
    done = run(gate["run"], project, environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "::error" not in done.stdout
    break_it(project)
    done = run(gate["run"], project, environment)
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(
        r"^::error file=specs/truncate-to-hw-2221-weak.toml,line=\d+,title=acked gate%3A verdict::", done.stdout, re.M
    )
    summary = (project / "summary.md").read_text("utf-8")
    assert "truncates its log from offset 1 to 0" in summary
    written = {path.suffix for path in (project / "acked-runs").iterdir()}
    assert written == {".json", ".html", ".svg"}
    for step in steps():
        named = step.get("with", {})
        for key in ("sarif_file", "path"):
            if key in named and not named[key].startswith("~"):
                assert (project / named[key]).exists(), step


def test_the_audit_of_the_workflow_is_red_where_loss_is_possible(project: Path, at_hand: dict[str, str]) -> None:
    audit = next(step for step in steps("audit") if step.get("name") == "Audit")
    environment = at_hand | {"GITHUB_STEP_SUMMARY": str(project / "summary.md")}
    (project / "kafka").mkdir()
    settings = project / "kafka" / "server.properties"
    settings.write_text("replication.factor=2\nmin.insync.replicas=2\nacks=1\nretries=0\n", "utf-8")
    done = run(audit["run"] + " --ask loss,duplicates --no-advice --faults clean --quiet", project, environment)
    assert done.returncode == 12, done.stdout + done.stderr
    [found] = json.loads((project / "audit.sarif").read_text("utf-8"))["runs"]
    assert any("acks" in str(result["message"]) or "lost" in str(result["message"]) for result in found["results"])
    assert 'failures="1"' in (project / "audit.xml").read_text("utf-8")
    assert "acks=1" in (project / "summary.md").read_text("utf-8")
    settings.write_text("replication.factor=2\nmin.insync.replicas=2\nacks=all\nenable.idempotence=true\n", "utf-8")
    done = run(audit["run"] + " --ask loss,duplicates --no-advice --faults clean --quiet", project, environment)
    assert done.returncode == 0, done.stdout + done.stderr


ACTION = yaml.safe_load((CHECKOUT / "action.yml").read_text("utf-8"))


def in_the_action(step: str, project: Path, environment: dict[str, str], **inputs: str) -> subprocess.CompletedProcess[str]:
    """Runs a step of action.yml as GitHub does: with its `env`, whose expressions are inputs."""
    [found] = [each for each in ACTION["runs"]["steps"] if each.get("name") == step]
    given = {name: str(item["default"]) for name, item in ACTION["inputs"].items()} | inputs
    values = {
        name: re.sub(r"\$\{\{ inputs\.([\w-]+)[^}]*\}\}", lambda match: given[match[1]], text)
        for name, text in found["env"].items()
    }
    return run(found["run"], project, environment | {name: text for name, text in values.items() if text})


def test_the_action_runs_the_gate_and_the_audit(project: Path, at_hand: dict[str, str]) -> None:
    assert all(item["description"] for item in ACTION["inputs"].values())
    environment = at_hand | {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(project / "summary.md")}
    aside = {"PIP_TARGET": str(project.parent / "packages")}  # Other tests run what is installed there already.
    done = in_the_action("Install", project, environment | aside, package="acked")
    assert done.returncode == 0, done.stdout + done.stderr
    done = in_the_action("Gate", project, environment, **{"gate-arguments": "--no-cache"})
    assert done.returncode == 0, done.stdout + done.stderr
    (project / "own.properties").write_text("replication.factor=2\nacks=0\n", "utf-8")
    asked = {"settings": "own.properties", "audit-arguments": "--kafka-version 4.1 --no-advice --faults clean"}
    done = in_the_action("Audit", project, environment, **asked)
    assert done.returncode == 12, done.stdout + done.stderr
    written = {path.name for path in (project / ACTION["outputs"]["sarif"]["value"]).iterdir()}
    assert written == {"gate.xml", "gate.sarif", "audit.sarif", "audit.xml"}
    assert "FAIL" in (project / "summary.md").read_text("utf-8")
    break_it(project)
    assert in_the_action("Gate", project, environment).returncode == 1


def commented(project: Path, environment: dict[str, str], settings: str, more: str = "") -> str:
    """What the action's step says of a pull request with these settings, in the place of which `gh` writes it down."""
    (project / "own.properties").write_text(settings, "utf-8")
    asked = {"settings": "own.properties", "audit-arguments": f"--kafka-version 4.1 --ask loss --faults clean{more}"}
    done = in_the_action("Comment", project, environment, **asked, **{"comment-token": "secret"})
    assert done.returncode == 0, done.stdout + done.stderr
    said = project.parent / "said"
    return said.read_text("utf-8") if said.exists() else done.stdout


def test_the_action_tells_a_pull_request_what_it_turns(project: Path, at_hand: dict[str, str]) -> None:
    tools = project.parent / "tools"
    tools.mkdir()
    (tools / "gh").write_text('#!/bin/sh\n[ "$GH_TOKEN" = secret ] && echo "$@" > ../said && cat "$7" >> ../said\n', "utf-8")
    (tools / "gh").chmod(0o755)
    names = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = at_hand | names | {"GITHUB_BASE_REF": "main", "GITHUB_REF": "refs/pull/12/merge"}
    environment["PATH"] = f"{tools}{os.pathsep}{at_hand['PATH']}"
    safe = "replication.factor=3\nmin.insync.replicas=2\nacks=all\n"
    origin = "git init -q -b main . && git add . && git commit -qm one && git remote add origin ."
    assert run(origin, project, environment).returncode == 0
    assert "::notice::acked: there is no audit" in commented(project, environment, safe)
    assert run("git add . && git commit -qm two", project, environment).returncode == 0
    assert commented(project, environment, safe) == ""
    first, *lines = commented(project, environment, safe.replace("all", "1")).splitlines()
    assert first.startswith("pr comment 12 --edit-last --create-if-none --body-file ")
    assert lines[2:] == ["`````text", "worse: lost (clean): no before, yes now", "`````"]
    assert run("git worktree list | wc -l", project, environment).stdout.strip() == "1"
    (project.parent / "said").unlink()
    (project / "acked.toml").write_text('[[require]]\ntopics = ["*"]\nanswers = ["loss=clean"]\n', "utf-8")
    assert run("git add acked.toml && git commit -qm three acked.toml", project, environment).returncode == 0
    _, *lines = commented(project, environment, safe.replace("all", "1"), " --policy acked.toml").splitlines()
    assert lines[2:] == ["`````text", "worse: lost (clean): no before, yes now", "`````"]


@pytest.mark.parametrize("name", ["docs/ci.md", "docs/install.md", "docs/agents.md", "README.md", "action.yml"])
def test_no_name_of_ours_is_installed_from_an_index(name: str) -> None:
    text = (CHECKOUT / name).read_text("utf-8")
    installed = re.findall(r"(?:pip install|pip download|uvx|pipx run)\b[^\n`]*", text)
    assert [line for line in installed if re.search(r"[ ']acked(-slim)?(\[|'| (?!audit)|$)", line)] == []
    assert all("git+" in line for line in re.findall(r"^  ACKED:.*", text, re.MULTILINE))


def test_the_page_gives_the_action_inputs_that_it_has() -> None:
    [block] = [block for block in blocks("yaml") if "uses: OWNER/acked@" in block]
    [shown] = [step["with"] for step in yaml.safe_load(block) if "OWNER/acked@" in step["uses"]]
    assert set(shown) <= set(ACTION["inputs"])
    assert set(shown) | set(re.findall(r"`([\w-]+)`", TEXT)) >= set(ACTION["inputs"])
    assert ACTION["outputs"]["sarif"]["value"] in block


def test_the_hooks_of_the_repository_run_commands_that_exist(project: Path, at_hand: dict[str, str]) -> None:
    hooks = {hook["id"]: hook for hook in yaml.safe_load((CHECKOUT / ".pre-commit-hooks.yaml").read_text("utf-8"))}
    assert set(hooks) == {"acked-gate", "acked-audit"}
    spec = "specs/kip320-2111.toml"
    assert re.search(hooks["acked-gate"]["files"], spec)
    assert run(f"{hooks['acked-gate']['entry']} {spec}", project, at_hand).returncode == 0
    (project / "own.properties").write_text("replication.factor=2\nacks=0\n", "utf-8")
    assert re.search(hooks["acked-audit"]["files"], "own.properties")
    asked = "--kafka-version 4.1 --ask loss --no-advice own.properties"
    done = run(f"{hooks['acked-audit']['entry']} {asked}", project, at_hand)
    assert done.returncode == 12, done.stdout + done.stderr


def of_commits(project: Path, at_hand: dict[str, str]) -> dict[str, str]:
    """The environment in which pre-commit runs, at home beside the project."""
    names = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    return at_hand | names | {"PRE_COMMIT_HOME": str(project.parent / "home"), "HOME": str(project.parent)}


def test_the_hook_lets_a_sound_commit_pass_and_stops_a_broken_one(project: Path, at_hand: dict[str, str]) -> None:
    [config] = [block for block in blocks("yaml") if "repos:" in block]
    (project / ".pre-commit-config.yaml").write_text(config, "utf-8")
    scripts = sysconfig.get_path("scripts")
    environment = of_commits(project, at_hand)
    assert run("git init -q . && git add .", project, environment).returncode == 0
    done = run(f"{scripts}/pre-commit run --all-files", project, environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Passed" in done.stdout
    break_it(project)
    assert run("git add .", project, environment).returncode == 0
    done = run(f"{scripts}/pre-commit run --all-files", project, environment)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "verdict is violated, expected holds" in done.stdout


JAVA = {
    "src/main/resources/log4j.properties": "log4j.rootLogger=INFO, stdout\n",
    "src/main/resources/messages_en.properties": "greeting=Hello\nfarewell=Goodbye\n",
    "envs/dev/server.properties": "default.replication.factor=2\nmin.insync.replicas=2\n",
    "envs/prod/server.properties": "default.replication.factor=3\nmin.insync.replicas=2\n",
}


def test_the_audits_hook_passes_a_java_repository_and_stops_a_bad_change_by_its_file(
    project: Path, at_hand: dict[str, str]
) -> None:
    """By pre-commit itself, from a repository of hooks that a configuration names; only the installation is there already."""
    hooks, scripts, environment = project.parent / "hooks", sysconfig.get_path("scripts"), of_commits(project, at_hand)
    hooks.mkdir()
    shipped = (CHECKOUT / ".pre-commit-hooks.yaml").read_text("utf-8")
    (hooks / ".pre-commit-hooks.yaml").write_text(shipped.replace("language: python", "language: system"), "utf-8")
    made = run("git init -q -b main . && git add . && git commit -qm one && git rev-parse HEAD", hooks, environment)
    assert made.returncode == 0, made.stderr
    java = project.parent / "java"
    for name, text in JAVA.items():
        (java / name).parent.mkdir(parents=True, exist_ok=True)
        (java / name).write_text(text, "utf-8")
    asked = {"id": "acked-audit", "args": ["--kafka-version", "4.1", "--ask", "loss", "--no-advice"]}
    config = {"repos": [{"repo": str(hooks), "rev": made.stdout.strip(), "hooks": [asked]}]}
    (java / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config), "utf-8")
    commit = f"git add . && {scripts}/pre-commit run"
    done = run(f"git init -q -b main . && {commit}", java, environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Passed" in done.stdout
    assert run("git commit -qm one", java, environment).returncode == 0
    (java / "src/main/resources/messages_de.properties").write_text("greeting=Hallo\n", "utf-8")
    assert run(commit, java, environment).returncode == 0, "a commit of nothing of Kafka's"
    (java / "envs/prod/server.properties").write_text(
        "default.replication.factor=3\nmin.insync.replicas=1\nunclean.leader.election.enable=true\n", "utf-8"
    )
    done = run(commit, java, environment)
    assert done.returncode == 1, done.stdout + done.stderr
    said = " ".join(done.stdout.split())
    assert "envs/prod/server.properties: every topic: lost (process dies): yes" in said
    assert "FAIL: 1 group of topics (1): acknowledged records can be lost" in said


def test_pytest_has_an_item_per_spec_beside_the_users_own_folders(project: Path, at_hand: dict[str, str]) -> None:
    [settings] = blocks("ini")
    (project / "pytest.ini").write_text(settings, "utf-8")
    command = "python -m pytest -q -p no:cacheprovider"
    done = run(command, project, at_hand)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout
    break_it(project)
    done = run(command, project, at_hand)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 2 passed" in done.stdout
    assert "truncates its log from offset 1 to 0" in done.stdout
    assert "Traceback" not in done.stdout
