"""What a run is played on and with: brokers, Kafka's settings, what is another in a control, rules that are not theirs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from pathlib import Path

from acked.base.errors import ConfigurationError
from acked.base.frozen import frozen
from acked.base.names import near
from acked.cluster.releases.release import Mode, Release, mode_of, release
from acked.cluster.vocabulary.keys import KEYS
from acked.cluster.vocabulary.names import read_names
from acked.cluster.wire.client import ALL_REPLICAS
from acked.model.language.context import Constant
from acked.model.language.telling import says_list

LAG_SECONDS = 10
"""After so long a follower is too slow, where a leader of the run removes one, else never. A run takes less until then."""
_ELIGIBLE_LEADERS, FIRST_WITH_ELIGIBLE_LEADERS, _ON_BY_DEFAULT = "eligible.leader.replicas.version", (4,), (4, 1)
_OF_PRODUCERS = ["acks", "enable.idempotence"]


@frozen
class Brokers:
    """Which brokers play: a release, its mode (None: that of the rules), and where its jars are (None: the cache).

    `sessions_expire`: the controller notices by itself, after seconds, that a broker is dead; only with KRaft.
    """

    version: str
    mode: Mode | None = None
    home: Path | None = None
    sessions_expire: bool = False

    @property
    def release(self) -> Release:
        """The release."""
        return release(self.version)

    @property
    def chosen_mode(self) -> Mode:
        """The mode in which they run, the release's own if none is said; `ConfigurationError` for what there is not."""
        return mode_of(self.release, self.mode)

    @property
    def only_mode(self) -> Mode | None:
        """The mode that is said, or the only one that the release has."""
        modes = self.release.modes
        return self.mode or (modes[0] if len(modes) == 1 else None)


@frozen
class Changed:
    """What is another in a control: the release, or one setting; the other is None."""

    version: str | None = None
    setting: tuple[str, str] | None = None

    @classmethod
    def parse(cls, text: str) -> Changed:
        """What a text names, as `str` writes it or a release alone; `ConfigurationError` for what is neither."""
        key, separator, value = (part.strip() for part in text.partition("="))
        if not separator:
            return cls(version=release(text.removeprefix("Kafka ")).version)
        if not key or not value:
            raise ConfigurationError(f"the control {text} is neither a release nor KEY=VALUE, such as acks=all")
        return cls(setting=(key, value))

    def __str__(self) -> str:
        return f"Kafka {self.version}" if self.version is not None else "=".join(self.setting or ())


@frozen
class Setting:
    """What is asked of brokers and producers. `topic` are settings of the topic, `brokers` of all nodes.

    `has_eligible_leaders`: whether the feature of KIP-966 is on, of releases that have it; None: as the release has it.
    `is_idempotent`: records carry a producer id. `other_candidates`: brokers without replicas that may be the controller,
    beside the first. `compares_eligible`: another set of eligible leaders is another way. In a control it is none: it follows
    from the setting or the release by itself, before the run has come to what is mended, and where it matters another leader
    is elected. `transaction_version`: that of clients with transactions; None: there are none.
    """

    replicas: int
    acks: int
    topic: Mapping[str, str]
    brokers: Mapping[str, str] = field(default_factory=dict)
    has_eligible_leaders: bool | None = None
    is_idempotent: bool = False
    other_candidates: int = 0
    compares_eligible: bool = True
    transaction_version: int | None = None

    def change(self, key: str, value: str) -> Setting:
        """The same with another setting of the topic, or of producers; `ConfigurationError` for what Kafka does not have."""
        if key == "acks":
            known = {"0": 0, "1": 1, "all": ALL_REPLICAS, "-1": ALL_REPLICAS}
            if value not in known:
                raise ConfigurationError(f"acks={value} is not a setting of producers; it is 0, 1 or all")
            return replace(self, acks=known[value])
        if key == "enable.idempotence":
            if value not in ("true", "false"):
                raise ConfigurationError(f"enable.idempotence={value} is not a setting of producers; it is true or false")
            return replace(self, is_idempotent=value == "true")
        _check_topic(key, value)
        return replace(self, topic={**self.topic, key: value})

    def limit_lag(self) -> Setting:
        """The same with leaders that remove followers from the ISR which are too slow."""
        return replace(self, brokers={**self.brokers, "replica.lag.time.max.ms": str(1000 * LAG_SECONDS)})

    def features(self, chosen: Release) -> dict[str, int]:
        """KRaft's features, as far as they are not the release's own."""
        is_on = chosen.number >= _ON_BY_DEFAULT
        if chosen.number < FIRST_WITH_ELIGIBLE_LEADERS or self.has_eligible_leaders in (None, is_on):
            return {}
        return {_ELIGIBLE_LEADERS: int(self.has_eligible_leaders)}


def _check_topic(key: str, value: str) -> None:
    """Refuses what brokers would refuse once they have started: an unknown setting, or a value that it cannot have."""
    known = read_names("topics.txt")
    if key not in known:
        hint = near(key, [*_OF_PRODUCERS, *sorted(known)])
        raise ConfigurationError(
            f"{key} is no setting of Kafka's topics{hint}; of producers there are {says_list(_OF_PRODUCERS)}"
        )
    try:
        if key in KEYS:
            KEYS[key].read(value)
    except ValueError as error:
        raise ConfigurationError(f"{key}={value} is not a setting of topics; it is {error}") from None


@frozen
class OtherRule:
    """A rule that the trace has in another way than the release: the constant and both values in words."""

    constant: str
    trace: str
    release: str


def differing_rules(rules: Iterable[Constant], constants: Mapping[str, int], has: Mapping[str, int]) -> tuple[OtherRule, ...]:
    """The rules in which constants are not what a release has; of a rule that `has` lacks nothing is said."""
    return tuple(
        OtherRule(rule.name, str(rule.show(constants[rule.name])), str(rule.show(has[rule.name])))
        for rule in rules
        if rule.name in has and has[rule.name] != constants[rule.name]
    )
