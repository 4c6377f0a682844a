"""The manifest of docs/clusters.md is one that Kubernetes takes, with a command that acked has."""

from __future__ import annotations

import re
from typing import Any

import kubernetes_validate
import pytest
import yaml
from click import Context

from acked.checker.spark.session import PORT, SparkSettings
from acked.cli import cli
from acked.commands.check import check
from tests.places import CHECKOUT

VERSION = "1.33"


def rendered() -> list[dict[str, Any]]:
    text = (CHECKOUT / "docs" / "clusters.md").read_text(encoding="utf-8")
    [manifest] = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    for name, value in {"NAMESPACE": "models", "IMAGE": "registry.example/acked:1", "SPEC": "kip320"}.items():
        manifest = manifest.replace(name, value)
    return list(yaml.safe_load_all(manifest))


def test_every_object_of_the_manifest_is_as_kubernetes_schema_says() -> None:
    objects = rendered()
    for item in objects:
        kubernetes_validate.validate(item, VERSION, strict=True)
    assert [item["kind"] for item in objects] == ["ServiceAccount", "Role", "RoleBinding", "Service", "Job"]
    objects[-1]["spec"]["template"]["spec"]["restartPolice"] = "Never"
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(objects[-1], VERSION, strict=True)


def test_the_command_of_the_manifest_is_one_and_its_service_names_the_ports_and_the_host() -> None:
    *_, service, job = rendered()
    pod = job["spec"]["template"]
    [driver] = pod["spec"]["containers"]
    program, name, *arguments = [*driver["command"], *driver["args"]]
    assert (program, name) == ("acked", "check")
    given = check.make_context("check", arguments, Context(cli, **cli.context_settings)).params
    conf = dict(given["conf"])
    settings = SparkSettings(given["master"], conf, memory=2 << 30)
    assert (settings.wanted_slots, settings.ships) == (26, True)
    assert conf["spark.driver.host"] == f"{service['metadata']['name']}.{service['metadata']['namespace']}.svc"
    ports = {conf[name] for name in ("spark.driver.port", "spark.driver.blockManager.port", PORT)}
    assert {str(item["port"]) for item in service["spec"]["ports"]} == ports
    assert service["spec"]["selector"] == pod["metadata"]["labels"]
