"""Run directories in S3: a search whose driver is killed goes on from there."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from acked.api import load_spec
from acked.base.bounds import Bounds
from acked.checker.search.local import search
from acked.checker.spark.driver import SparkSearch
from acked.checker.spark.hadoop import HadoopRun
from acked.checker.spark.session import SparkDriver, SparkSettings
from acked.checker.store.run_directory import RunDirectory
from tests.checker.toys import answer
from tests.places import CHECKOUT

pytestmark = [pytest.mark.spark, pytest.mark.long]

SPEC, LEVEL = "kip320-3222", 6
RUN = "s3a://runs/one"
AMAZON = "2.35.4"
"""Of the client with which hadoop-aws 3.5.0 is built. In one jar, as it asks for it, that client takes 600 MB."""
POM = """\
<project><modelVersion>4.0.0</modelVersion><groupId>acked</groupId><artifactId>s3</artifactId><version>1</version>
<packaging>pom</packaging><dependencies>
<dependency><groupId>org.apache.hadoop</groupId><artifactId>hadoop-aws</artifactId><version>{hadoop}</version><exclusions>
<exclusion><groupId>software.amazon.awssdk</groupId><artifactId>bundle</artifactId></exclusion></exclusions></dependency>
{modules}</dependencies></project>
"""
MODULE = "<dependency><groupId>software.amazon.awssdk</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"
SPARKS_OWN = ("netty-buffer", "netty-codec", "netty-common", "netty-handler", "netty-resolver", "netty-transport", "slf4j")


@pytest.fixture(scope="module")
def jars(tmp_path_factory: pytest.TempPathFactory) -> str:
    [client] = (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar")
    modules = "".join(MODULE.format(name, AMAZON) for name in ("s3", "s3-transfer-manager", "sts"))
    home = tmp_path_factory.mktemp("jars")
    (home / "pom.xml").write_text(POM.format(hadoop=client.stem.rpartition("-")[2], modules=modules))
    copy = ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=.", "-DincludeScope=runtime"]
    subprocess.run(copy, cwd=home, check=True)
    return ",".join(str(path) for path in home.glob("*.jar") if not path.name.startswith(SPARKS_OWN))


@pytest.fixture
def server() -> Iterator[str]:
    command = [sys.executable, str(Path(__file__).parent / "s3_server.py"), "runs"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        process.kill()


def settings(jars: str, server: str) -> dict[str, str]:
    of_s3 = {
        "endpoint": server,
        "endpoint.region": "us-east-1",
        "path.style.access": "true",
        "access.key": "anybody",
        "secret.key": "anything",
    }
    return {"spark.jars": jars, **{f"spark.hadoop.fs.s3a.{name}": value for name, value in of_s3.items()}}


def kept(server: str) -> str:
    with urllib.request.urlopen(f"{server}/runs?list-type=2&prefix=one/", timeout=60) as reply:
        return str(reply.read().decode())


@pytest.mark.timeout(1200)
def test_a_search_whose_driver_is_killed_is_resumed_from_s3(jars: str, server: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "acked", "check", SPEC, "--quiet", "--engine", "spark", "--master", "local[2]"]
    command += ["--run-dir", RUN]
    for name, value in settings(jars, server).items():
        command += ["--conf", f"{name}={value}"]
    with subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.DEVNULL, env=os.environ) as child:
        while f"one/commits/{LEVEL:05}.json" not in kept(server):
            assert child.poll() is None, "the search ended before it could be killed"
            time.sleep(0.1)
        child.kill()
    question = load_spec(SPEC).question()
    (tmp_path / "run").mkdir()
    spark = SparkSettings("local[2]", settings(jars, server))
    with SparkDriver(spark, tmp_path / "spark.log") as driver, HadoopRun(driver, RUN) as copied:
        copied.fetch(tmp_path / "run")
        with RunDirectory.open(tmp_path / "run", question) as run:
            run.copy = copied.copy
            result = SparkSearch(question, run, driver).run()
    assert answer(result) == answer(search(question, Bounds(workers=2)))
    assert LEVEL <= result.stored_levels < result.depth
    assert f"one/commits/{result.depth:05}.json" in kept(server)
