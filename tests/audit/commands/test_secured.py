"""Clusters that want TLS and a login are read as open ones are, and what is wrong with a login is one sentence."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import admin as kafka

from acked.audit.clusters.live import LiveCluster, LivePartition, live_entries
from acked.audit.commands.connection import Connection, Unavailable
from acked.audit.commands.live import ask_cluster, client_properties
from acked.audit.decision.gather import facts_in
from acked.base.errors import SystemFailure
from acked.cluster.nodes.addresses import free_ports
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.nodes.jvm import broker_java
from acked.cluster.releases.release import Mode
from acked.cluster.vocabulary.note import Noticed, settings_of
from acked.cluster.waiting import wait_for
from tests.cluster.conftest import real_plan, users_cache

__all__ = ["users_cache"]

LISTENERS = {"PLAINLOGIN": "SASL_PLAINTEXT", "TLS": "SSL", "TLSLOGIN": "SASL_SSL"}
PASSWORD = "a;b=c,d"
JAAS = "org.apache.kafka.common.security.{}LoginModule required"


class Secured:
    """A cluster of three brokers with a listener for each kind of security, and where they listen."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster, self.folder = cluster, folder
        self.ports = {name: free_ports(3) for name in LISTENERS}
        for broker in cluster.plan.brokers:
            self._open(broker, cluster.nodes[broker].settings)

    def _open(self, broker: int, settings: dict[str, str]) -> None:
        for name, protocol in LISTENERS.items():
            own, at = f"listener.name.{name.lower()}.", f",{name}://127.0.0.1:{self.ports[name][broker]}"
            settings["listeners"] += at
            settings["advertised.listeners"] += at
            settings["listener.security.protocol.map"] += f",{name}:{protocol}"
            if "SSL" in protocol:
                settings |= {own + "ssl.keystore.type": "PKCS12", own + "ssl.keystore.password": PASSWORD,
                             own + "ssl.keystore.location": str(self.folder / "broker.p12")}  # fmt: skip
            if "SASL" in protocol:
                settings |= {
                    own + "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
                    own + "plain.sasl.jaas.config": f'{JAAS.format("plain.Plain")} user_audit="{PASSWORD}";',
                    own + "scram-sha-256.sasl.jaas.config": f"{JAAS.format('scram.Scram')};",
                    own + "scram-sha-512.sasl.jaas.config": f"{JAAS.format('scram.Scram')};",
                }

    def address(self, listener: str) -> str:
        return f"127.0.0.1:{self.ports[listener][0]}"

    def ask(self, listener: str, **values: str) -> LiveCluster:
        """Through a file of a client's properties, as an operator has it."""
        said = {"security.protocol": LISTENERS[listener]} | {key.replace("_", "."): value for key, value in values.items()}
        path = self.folder / "client.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in said.items()))
        return ask_cluster(self.address(listener), client_properties(path), seconds=20)

    def login(self, mechanism: str, password: str = PASSWORD) -> dict[str, str]:
        module = JAAS.format("plain.Plain" if mechanism == "PLAIN" else "scram.Scram")
        return {"sasl_mechanism": mechanism, "sasl_jaas_config": f'{module} username="audit" password="{password}";'}

    @property
    def trust(self) -> dict[str, str]:
        return {"ssl_truststore_type": "PEM", "ssl_truststore_location": str(self.folder / "broker.pem")}


def certificate(folder: Path, name: str) -> None:
    """A key that signs itself, for 127.0.0.1, and its certificate as PEM."""
    tool = [str(broker_java().with_name("keytool")), "-keystore", str(folder / f"{name}.p12"), "-storepass", PASSWORD]
    made = ["-genkeypair", "-alias", name, "-keyalg", "RSA", "-storetype", "PKCS12", "-dname", f"CN={name}"]
    subprocess.run([*tool, *made, "-ext", "SAN=ip:127.0.0.1"], check=True, capture_output=True)
    shown = [*tool, "-exportcert", "-rfc", "-alias", name, "-file", str(folder / f"{name}.pem")]
    subprocess.run(shown, check=True, capture_output=True)


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("secured")
    with pytest.MonkeyPatch.context() as patch:
        users_cache.__wrapped__(patch)
        plan = real_plan("4.2.0", {"default.replication.factor": "3", "min.insync.replicas": "2"}, Mode.KRAFT)
        for name in ("broker", "stranger"):
            certificate(folder, name)
        cluster = Cluster(plan)
        found = Secured(cluster, folder)
        with cluster:
            with cluster.admin() as ask:
                assert ask.create_topic("orders", [0, 1, 2], {}) == 0
            client = kafka.AdminClient({"bootstrap.servers": cluster.bootstrap(), "log_level": 0})
            mechanisms = (kafka.ScramMechanism.SCRAM_SHA_256, kafka.ScramMechanism.SCRAM_SHA_512)
            users = [
                kafka.UserScramCredentialUpsertion("audit", kafka.ScramCredentialInfo(kind, 4096), PASSWORD.encode())
                for kind in mechanisms
            ]
            for user in users:
                client.alter_user_scram_credentials([user])["audit"].result(60)
            yield found


pytestmark = [pytest.mark.real, pytest.mark.slow]


@pytest.mark.parametrize("listener", LISTENERS)
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_what_is_read_is_the_same_however_one_is_let_in(secured: Secured, listener: str, mechanism: str) -> None:
    if listener == "TLS" and mechanism != "PLAIN":
        pytest.skip("nobody logs in there")
    login = secured.login(mechanism) if "LOGIN" in listener else {}
    found = secured.ask(listener, **login, **(secured.trust if "TLS" in listener else {}))
    open_ = ask_cluster(secured.cluster.bootstrap(), {}, seconds=20)
    assert found.features == open_.features
    assert found.features
    assert [(broker.number, broker.newest_level, broker.failure) for broker in found.brokers] == [
        (broker.number, broker.newest_level, "") for broker in open_.brokers
    ]
    said = [{(entry.key, entry.value, entry.said_by) for entry in settings_of(live_entries(one))} for one in (found, open_)]
    assert said[0] == said[1]


@pytest.mark.parametrize(("listener", "values", "reason"), [
    ("PLAINLOGIN", "wrong PLAIN", "Authentication failed"),
    ("PLAINLOGIN", "wrong SCRAM-SHA-256", "Authentication failed"),
    ("TLSLOGIN", "wrong PLAIN", "Authentication failed"),
    ("TLS", "a stranger", "certificate"),
    ("TLSLOGIN", "a stranger", "certificate"),
])  # fmt: skip
def test_a_login_that_fails_is_one_sentence_with_its_reason(
    secured: Secured, listener: str, values: str, reason: str
) -> None:
    said = secured.login("PLAIN") if listener == "TLSLOGIN" else {}
    if values.startswith("wrong"):
        said = secured.login(values.partition(" ")[2], "guessed")
    trust = secured.trust if "TLS" in listener else {}
    if values == "a stranger":
        trust = {**trust, "ssl_truststore_location": str(secured.folder / "stranger.pem")}
    with pytest.raises(SystemFailure) as refused:
        secured.ask(listener, **said, **trust)
    text = str(refused.value)
    assert reason in text
    assert text.startswith(f"the cluster at {secured.address(listener)} cannot be read: S")
    assert text.endswith("; look at --command-config")
    assert "ms in state" not in text
    assert "\n" not in text
    assert "guessed" not in text
    assert PASSWORD not in text


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_our_own_connection_tells_a_wrong_password_too(secured: Secured, mechanism: str) -> None:
    host, _, port = secured.address("PLAINLOGIN").partition(":")
    values = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanisms": mechanism, "sasl.username": "audit"}
    with Connection((host, int(port)), {**values, "sasl.password": PASSWORD}, 10) as connection:
        connection.log_in()
    with Connection((host, int(port)), {**values, "sasl.password": "guessed"}, 10) as connection, pytest.raises(
        Unavailable, match="refuses user or password"
    ):
        connection.log_in()


def test_eligible_leaders_are_read_through_every_listener(secured: Secured) -> None:
    """The last test of this cluster: two of its brokers are gone afterwards."""
    cluster = secured.cluster
    for broker in (2, 1):
        cluster.kill(broker)
        cluster.notice(broker)

    def partition(found: LiveCluster) -> LivePartition:
        return found.topics[0].partitions[0]

    def is_short() -> bool:
        return partition(ask_cluster(cluster.addresses.bootstrap(0), {}, seconds=20)).isr == (0,)

    wait_for(is_short, "an ISR of one", 60)
    for listener in LISTENERS:
        login = secured.login("SCRAM-SHA-512") if "LOGIN" in listener else {}
        found = secured.ask(listener, **login, **(secured.trust if "TLS" in listener else {}))
        assert partition(found).eligible == (1,), listener
        facts = (fact for fact, _ in facts_in(live_entries(found)))
        said = [fact.words for fact in facts if isinstance(fact, Noticed)]
        assert "partition 0 has 0 of 0,1,2 (eligible to lead besides: 1)" in said
