"""The service behind `acked watch`: running clusters are asked again whenever something in them changes.

`clusters` reads each cluster every so many seconds. `answers` asks `roll` of its state, and the audit of its settings, in
processes of their own, so that neither memory nor a hang outlives a question. `metrics` and `page` show what is known,
`server` serves both, and two files beside them are for Prometheus and Grafana.

Floor 9.
"""
