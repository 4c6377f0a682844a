"""Specs by name or path, and with what the command line changes in them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from acked.base.errors import ConfigurationError, SpecUnreadable
from acked.base.names import near
from acked.base.release import release
from acked.checker.question.question import DEADLOCK
from acked.checker.spec.resolve import bind_constants, no_constant, settle
from acked.checker.spec.spec import Spec, judge, load_spec, protocol_in
from acked.checker.spec.user_protocol import is_reference
from acked.checker.spec.variants import file_and_variant, name_of
from acked.model.formulas.errors import ModelError
from acked.reports.shell.bundled import all_bundled, bundled_of


def bundled_spec(name: str) -> Path | None:
    """The bundled spec of a name, with or without its folder, e.g. `claims/acks-1-loses`; None if there is none.

    A file of that name in the working directory takes precedence, unless it would run a protocol file: then
    `ConfigurationError`, because a user of bundled specs may not know of it.
    """
    if name.endswith(".toml"):
        return None
    found = bundled_of(name)
    if found is None or not os.path.isfile(name):
        return found
    if is_reference(protocol := protocol_in(Path(name))):
        raise ConfigurationError(
            f"{name} is a bundled spec, and also a file here whose protocol is {protocol}; write ./{name} to run that"
        )
    return None


def find_spec(name: str, is_changed: bool = False) -> Spec:
    """A spec by path, or a bundled one by name, with or without its folder; `SpecUnreadable` if there is neither.

    `is_changed` says that it is to be put under other constants, by which its predicates are then judged.
    """
    if (bundled := bundled_spec(name)) is not None:
        return load_spec(bundled, is_changed)
    path = Path(name)
    file, _ = file_and_variant(path)
    # os.path.lexists, because Path's own raises for a name that is too long.
    is_path = file.suffix == ".toml" or os.sep in name
    if name and (os.path.lexists(file) or (is_path and not path.parent.is_dir())):
        return load_spec(path, is_changed)
    known = [name_of(item) for item in all_bundled()]
    if is_path:
        beside = sorted(item.name for item in path.parent.glob("*.toml"))
        of_bundled = near(name_of(path), known).replace("mean ", "mean the bundled spec ")
        hint = of_bundled if name_of(path) in known else near(file.name, beside) or of_bundled
        raise SpecUnreadable(f"there is no file {file}{hint}")
    raise SpecUnreadable(
        f"there is no file {name or repr(name)} and no bundled spec of that name{near(name, known)}; see `acked list specs`"
    )


def under_release(
    spec: Spec, version: str | None, control_plane: str | None, constants: Mapping[str, int | str] | None = None
) -> Spec:
    """The spec with the rules and defaults of a release, as if its file named it; what its [constants] say stays.

    `constants` come last, as if the file had them: what a release refuses is refused of all settings together.
    Of `version` the newest release that the protocol tells apart and that is not newer counts: 3.6.1 has the rules of 3.6.
    """
    if not spec.protocol.has_profiles:
        raise ConfigurationError(
            f"{spec.protocol.name} is one set of rules, whatever the release; --kafka-version is for specs of `partition`"
        )
    wanted = spec.version if version is None else release(version).newest_of(spec.protocol.releases)
    plane = control_plane or spec.control_plane
    try:
        profile = spec.protocol.profile(wanted, plane)
    except ModelError as error:
        raise ConfigurationError(f"{error}; see --control-plane" if plane else str(error)) from None
    given = {**spec.given, **_check_known(spec, constants or {})}
    bound = bind_constants(spec.protocol, {**{name: item.value for name, item in profile.items()}, **given})
    bound, warnings = settle(spec.protocol, given, bound, plane)
    # Without its path and its expectation, as in `changed`.
    asked = replace(spec.asked, constants=tuple(bound.items()))
    made = replace(
        spec, path=None, asked=asked, warnings=warnings, expect=None, version=wanted, control_plane=plane, given=given
    )
    return judge(made)


def change_spec(spec: Spec, constants: Mapping[str, int | str], deadlock: bool) -> Spec:
    """The spec with other constants or another question, and without its expectation, which is about the old ones."""
    properties = spec.properties
    if deadlock and DEADLOCK not in properties:
        properties = (*properties, DEADLOCK)
    bound = bind_constants(spec.protocol, {**spec.constants, **_check_known(spec, constants)})
    bound, warnings = settle(spec.protocol, constants, bound, None)
    # Without its path: an error is then in the command line, not in the file.
    asked = replace(spec.asked, constants=tuple(bound.items()), properties=tuple(item.name for item in properties))
    return judge(replace(spec, path=None, asked=asked, warnings=warnings, expect=None))


def _check_known(spec: Spec, constants: Mapping[str, int | str]) -> Mapping[str, int | str]:
    """The constants, which the spec's protocol has; `ConfigurationError` names the first that it has not."""
    for name in constants:
        if name not in spec.constants:
            raise ConfigurationError(no_constant(spec.protocol, name, spec.constants))
    return constants


def with_symmetry(spec: Spec) -> Spec:
    """The spec with symmetry: the same verdict and length of the shortest counterexample are expected, but no counts."""
    expect = spec.expect
    if expect is not None:
        expect = replace(
            expect, distinct_states=None, generated_states=None, depth=None, at_least_distinct_states=None
        )
    return replace(spec, path=None, asked=replace(spec.asked, symmetry=True), expect=expect)
