"""Real brokers: a run of the model played on them, and what they did held against the model.

In come a trace and a release (`playing`, which knows of a protocol what `replicating` or `transacting` says), a seed
(`exercising`), or a folder of logs and disks of a cluster that somebody else ran (`lines`, `observe`). Brokers are processes
on loopback (`nodes`), seen through proxies that can hold single frames (`proxies`) and asked in Kafka's own protocol
(`wire`). Out go how a play ended, step by step beside the model, and whether what nodes logged is a behaviour of the model
(`observation`, `validating`), for people and CI (`reports`, `commands`).

Floor 6.
"""
