"""Which release of Kafka a container image runs, by its name and tag.

The images that people run Kafka from, and Confluent's own numbering.
"""

from __future__ import annotations

import re

_PLAIN = frozenset({"apache/kafka", "apache/kafka-native", "bitnami/kafka", "bitnamilegacy/kafka", "wurstmeister/kafka",
                    "ubuntu/kafka", "strimzi/kafka"})  # fmt: skip
_CONFLUENT = frozenset({"cp-kafka", "cp-server", "cp-enterprise-kafka", "confluent-local"})

_IMAGE = re.compile(r"^(?:[^/]+[.:][^/]*/|localhost/)?(?P<name>[\w.\-]+(?:/[\w.\-]+)*):(?P<tag>[\w][\w.\-]*)(?:@.*)?$")
_TAG = re.compile(r"^(?:\d+\.\d+(?:\.\d+)?-kafka-|2\.1[0-3]-)?v?(?P<release>\d{1,4}\.\d{1,4}(?:\.\d{1,4}){0,2})(?:[.\-_]|$)")
"""Strimzi's tags have its own version before Kafka's, wurstmeister's the one of Scala."""

_OF_PLATFORM = {3: {0: "0.10.0", 1: "0.10.1", 2: "0.10.2", 3: "0.11.0"}, 4: {0: "1.0", 1: "1.1"}}
"""Kafka's releases in Confluent Platform, where the numbers follow no rule (its table of supported versions)."""


def release_of_image(image: str) -> str | None:
    """`apache/kafka:3.9.0` runs 3.9.0 and `confluentinc/cp-kafka:7.6.0` a 3.6; None for an image that is not known."""
    found = _IMAGE.match(image.strip())
    if found is None:
        return None
    tag = _TAG.match(found["tag"])
    if tag is None:
        return None
    name, release = found["name"].lower(), tag["release"]
    if name in _PLAIN:
        return release
    if name.rpartition("/")[2] in _CONFLUENT:
        return _platform_release(*map(int, release.split(".")[:2]))
    return None


def names_no_release(image: str) -> bool:
    """Whether an image is one of Kafka's whose tag says no release: `latest`, a digest, or what is filled in elsewhere."""
    name = re.split(r"[@$]|:(?![^/]*/)", image.strip(), maxsplit=1)[0].lower()
    is_kafkas = name.rpartition("/")[2] in _CONFLUENT or any(name == one or name.endswith(f"/{one}") for one in _PLAIN)
    return is_kafkas and release_of_image(image) is None


def _platform_release(major: int, minor: int) -> str | None:
    """Confluent Platform 5.x is Kafka 2.x; 6.x goes on there with 2.6, 7.x is 3.x, 8.x is 4.x."""
    if major in _OF_PLATFORM:
        return _OF_PLATFORM[major].get(minor)
    if major == 6:
        return f"2.{minor + 6}"
    return f"{ {5: 2, 7: 3, 8: 4}[major] }.{minor}" if major in (5, 7, 8) else None
