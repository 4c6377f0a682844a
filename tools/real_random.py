"""Plays random traces of the default question on real brokers, and writes down what came of each seed.

    python tools/real_random.py [--kafka RELEASE] [--seeds FIRST:LAST] [--again]

The traces are of specs/partition.toml with the rules of the release, of steps that can be played; the outcomes stand in
docs/real_random.json, by release and seed. A seed that is there already is left out, unless `--again` is given.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from acked.base.files import write_text  # noqa: E402
from acked.base.release import release as number_of  # noqa: E402
from acked.checker.question.question import Question  # noqa: E402
from acked.checker.spec.spec import parse_spec  # noqa: E402
from acked.cluster.playing.setting import Brokers  # noqa: E402
from acked.cluster.releases.release import Mode, newest  # noqa: E402
from acked.model.partition.rules.versions import rules_of  # noqa: E402
from tests.cluster.replicating.walks import PlayedWalk, play_walks  # noqa: E402

OUTCOMES = ROOT / "docs" / "real_random.json"
RELEASES = ("3.9.1", "4.1.0", "4.3.1", newest().version)
"""The releases that play."""


def question(release: str) -> Question:
    """The default question with the rules of a release, with KRaft."""
    path = ROOT / "specs" / "partition.toml"
    rules = f'version = "{rules_of(number_of(release))}"\ncontrol_plane = "kraft"'
    text = re.sub(r"^version .*$", rules, path.read_text("utf-8"), flags=re.MULTILINE)
    return parse_spec(text, path).question()


def outcome(found: PlayedWalk) -> dict[str, Any]:
    """What is written down of a trace."""
    made: dict[str, Any] = {"date": datetime.date.today().isoformat(), "steps": len(found.labels)}
    if found.played is None:
        return {**made, "outcome": "not playable", "reason": found.reason}
    if found.played.parted is None:
        return {**made, "outcome": "played", "seconds": round(found.played.seconds, 1)}
    return {**made, "outcome": "parted", "step": found.played.parted.index, "reason": found.reason, "trace": found.labels}


def main() -> None:
    """Plays, and writes after every trace."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kafka", choices=RELEASES)
    parser.add_argument("--seeds", default="0:50")
    parser.add_argument("--again", action="store_true", help="play those again that are written down")
    given = parser.parse_args()
    first, last = map(int, given.seeds.split(":"))
    for release in [given.kafka] if given.kafka else RELEASES:
        known = _written().get(release, {})
        seeds = [seed for seed in range(first, last) if given.again or str(seed) not in known]
        for found in play_walks(question(release), Brokers(release, Mode.KRAFT), seeds):
            made = outcome(found)
            print(f"{release}, seed {found.seed}: {made['outcome']}, {made['steps']} steps {found.reason}", flush=True)
            written = _written()
            written.setdefault(release, {})[str(found.seed)] = made
            ordered = {name: dict(sorted(seeds.items(), key=lambda item: int(item[0]))) for name, seeds in written.items()}
            write_text(OUTCOMES, json.dumps(ordered, indent=1) + "\n", "outcomes")


def _written() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(OUTCOMES.read_text("utf-8")) if OUTCOMES.is_file() else {}
    return found


if __name__ == "__main__":
    main()
