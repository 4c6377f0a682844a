"""The hunt: what one release of Kafka loses, searched for where nobody has looked, and put to what is known.

In comes a release. `questions` has every promise under every combination of settings and faults that people run, cheap ones
first; `search` decides them, by all reachable states or by random walks, reduces what breaks a promise to its shortest trace,
and asks which rule prevents it; `known` has the losses that are known, each with what prevents it. What no known loss
explains is new, and is played on real brokers. `assumptions` drops what the model takes for granted. Out go a table, a page
and an exit code (`reports`, `commands`).

Floor 9.
"""
