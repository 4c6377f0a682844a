"""The audit: Kafka's own settings in, answers about acknowledged records out.

In come files as people have them (`formats`), or a running cluster (`clusters`, `commands.live`), or a plan of reassignment
(`moves`) or of controllers (`quorum`). Every setting that counts has a name, a default by release and the place where it was
written (`vocabulary`). `decision` makes questions of them, lets the engines of `checker` decide each, and says what would
change an answer. Out go a terminal's page, Markdown, HTML, SARIF, JUnit and JSON (`reports`), and an exit code (`commands`).

Floor 7.
"""
