"""From what was read to the answer of `acked audit`: groups, their audits, what is shown and written, the exit code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path

from acked.audit.clusters.live import assume_producers
from acked.audit.clusters.policy import judge
from acked.audit.clusters.several import Asked, Audited, audit_groups, worst_of_groups
from acked.audit.clusters.topics import TopicGroup, left_out
from acked.audit.clusters.units import assume_replicas, groups_of_units, units_of, units_of_each
from acked.audit.commands.options import CODES, ClusterFacts, Places, Shown, Wanted
from acked.audit.commands.output_files import check_fixable, write_fixes, write_pages, write_trace
from acked.audit.commands.summary import MOST_LINES, difference_lines, policy_view, print_summary
from acked.audit.decision.faults import Assumptions, AuditQuestion
from acked.audit.decision.gather import Recognised
from acked.audit.decision.joint import SHIPPED as SHIPPED
from acked.audit.reports.baseline import since
from acked.audit.reports.build import view_of
from acked.audit.reports.terminal import audit_markdown, policy_markdown, print_audit, print_policy
from acked.audit.reports.topics import print_topics, topics_markdown, topics_view
from acked.audit.reports.view import AuditView, BaselineView, View, document_of
from acked.base.errors import ExitCode
from acked.base.version import __version__, source_address
from acked.checker.batch.cache import ResultCache
from acked.checker.batch.local import KeptProcesses
from acked.cluster.vocabulary.entry import Scope
from acked.reports.console import Console, harmless
from acked.reports.shell.batches import BatchOptions
from acked.reports.shell.output import json_text, put_drawn, put_text


def answer(
    parts: list[tuple[str, Recognised]],
    files: tuple[Path, ...],
    cluster: ClusterFacts,
    assumptions: Assumptions,
    wanted: Wanted,
    batch: BatchOptions,
    opened: Callable[[], ResultCache | None],
    output: Shown,
    places: Places,
) -> int:
    """Answers about all `parts` that were read, and returns the exit code; `opened` are the answers that are known."""
    policy, questions, required = wanted.by_policy, wanted.questions, wanted.required
    groups = _groups(parts, cluster, wanted)
    if wanted.show_settings:
        return _show_settings(groups, places)
    is_live = cluster.bootstrap is not None or (policy is not None and policy.clusters and not files)
    if is_live and not any(entry.scope is Scope.PRODUCER for _, part in parts for entry in part.known):
        groups = assume_producers(groups)
    check_fixable(groups, wanted.fix)
    cache = opened()
    with output.batch_progress("searches") as progress, KeptProcesses(batch.limits) as runner:
        asked = Asked(questions, required, assumptions, wanted.advice, cluster.version, cluster.control_plane, runner,
                      cache, progress, wanted.target, None if policy is None else wanted.of_group)  # fmt: skip
        audited = audit_groups(groups, asked)
    absent = [name for _, part in parts for name in left_out(part, groups)]
    is_summary = {form for form, _ in places} == {"text"} and not output.full and wanted.pages is None
    view = _view(audited, absent, cache, is_told=not is_summary)
    verdict = worst_of_groups(audited)
    if policy is not None:
        judged = judge(policy, audited, date.today(), is_whole=not wanted.each and cluster.topic is None)
        view, verdict = replace(view, policy=policy_view(policy.file, judged)), judged.verdict
    if wanted.earlier is not None and wanted.baseline is not None:
        changed = since(view, wanted.earlier, wanted.baseline)
        view, verdict = replace(view, baseline=changed), changed.verdict if policy is None else verdict
    if wanted.prove_it:
        return _prove(audited, view, required, CODES[verdict], output, places)
    _show(view, output, places, [str(file) for file in files])
    if wanted.pages is not None:
        write_pages(audited, view, wanted.pages)
    if wanted.trace_out is not None:
        write_trace(audited, wanted.trace_out)
    write_fixes(audited, wanted.fix)
    return CODES[verdict]


def _prove(
    audited: list[Audited],
    view: View,
    required: tuple[AuditQuestion, ...],
    code: ExitCode,
    output: Shown,
    places: Places,
) -> int:
    """Shows the audit and plays its first required yes on brokers, which decides the exit code."""
    from acked.audit.commands.prove_it import prove_first

    texts = [(form, out) for form, out in places if form == "text"]
    _show(view, output, texts, [])
    audits = [item.audit for item in audited if item.audit is not None]
    proved, proof = prove_first(audits, required, code, replace(output, form="text" if texts else "json"))
    for form, out in places:
        if form == "json":
            put_text(json_text({**document_of(view), **proof}), out, "audit")
    return proved


def _groups(parts: list[tuple[str, Recognised]], cluster: ClusterFacts, wanted: Wanted) -> list[TopicGroup]:
    """The groups of topics of what was read, of every file for itself if that is wanted."""
    units = units_of_each(parts) if wanted.each else units_of(parts[0][1])
    groups = groups_of_units(units, cluster.topic, cluster.entities, cluster.internal)
    return [assume_replicas(group) for group in groups] if wanted.each else groups


def _view(audited: list[Audited], left_out: list[str], cache: ResultCache | None, is_told: bool) -> View:
    """The audit of one group as it is, of several with their table; so is that of one which has a name, as with --each."""
    is_alone = len(audited) == 1 and not audited[0].group.unit
    alone = view_of(audited[0], cache) if is_alone else None
    return topics_view(audited, left_out, cache, is_told) if alone is None else alone


def _show_settings(groups: list[TopicGroup], places: Places) -> int:
    """Tells what was read, and that nothing was decided is no failure."""
    from acked.audit.commands.read_settings import print_settings, settings_document

    for form, out in places:
        if form == "json":
            put_text(json_text(settings_document(groups)), out, "settings")
        else:
            put_drawn(lambda console: print_settings(console, groups), out, "settings")
    return ExitCode.HOLDS


def _show(view: View, output: Shown, places: Places, files: list[str]) -> None:
    for form, out in places:
        if form == "text":
            _show_text(view, output.full, out)
        else:
            put_text(_render(view, form, files), out, "audit")
    others = [out for form, out in places if form != "text"]
    if not output.quiet and any(out is not None and out.is_file() for out in others):
        _show_text(view, output.full, None)  # So the log of a job says what is wrong, too.


def _show_text(view: View, is_full: bool, out: Path | None) -> None:
    if view.baseline is None:
        put_drawn(lambda console: _print(console, view, is_full), out, "audit")
    else:
        put_text(since_in_words(view, view.baseline, is_full), out, "audit")


def _print(console: Console, view: View, is_full: bool) -> None:
    if not is_full:
        print_summary(console, view)
    elif isinstance(view, AuditView):
        print_audit(console, view)
    else:
        print_topics(console, view)
    if is_full and view.policy is not None:
        print_policy(console, view.policy)


def since_in_words(view: View, changed: BaselineView, is_full: bool) -> str:
    """What is other than in the earlier audit, the causes of what is worse, and what a policy says if that is red.

    Unless it is to be told in full that is no longer than a summary.
    """
    lines = [*changed.notes, *difference_lines(view, changed.differences, is_full)]
    room = MOST_LINES - 1  # One for the policy.
    if not is_full and len(lines) > room:
        lines[room - 1 :] = [f"and {len(lines) - room + 1} lines more that --full tells"]
    if view.policy is not None and CODES[view.policy.verdict] is not ExitCode.HOLDS:
        lines.append(view.policy.verdict_in_words)
    return "".join(f"{harmless(line)}\n" for line in lines)


def _render(view: View, form: str, files: list[str]) -> str:
    match form:
        case "markdown":
            text = audit_markdown(view) if isinstance(view, AuditView) else topics_markdown(view)
            return text + "".join(f"{line}\n" for line in policy_markdown(view.policy))
        case "html":
            from acked.audit.reports.pages import audit_page

            return audit_page(view, date.today())
        case "sarif":
            from acked.audit.reports.sarif import audit_sarif

            return json_text(audit_sarif(view, files, __version__, source_address()))
        case "junit":
            from acked.audit.reports.junit import audit_junit

            return audit_junit(view)
    return json_text(document_of(view))
