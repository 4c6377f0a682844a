"""May this broker go down now? The state of every partition as the beginning of a question to `partition`.

In comes a cluster as it is: `partitions` reads leaders, ISR and eligible leaders, from brokers or from what Kafka's tools
printed, and `audit` the settings. `questions` puts each different state to the model under the release's rules: this broker
is stopped, and then at most one thing more fails. `decision` makes verdicts for brokers, and an order, of the answers. Out go
a short text, a document and an exit code (`reports`, `commands`).

Floor 8.
"""
