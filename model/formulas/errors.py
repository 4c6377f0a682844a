"""The errors a protocol author can cause, each one sentence with its fix."""

from __future__ import annotations


class ModelError(Exception):
    """A protocol, a property or a constant is wrong; the message is one sentence that says what and how to fix it."""


class DomainOverflow(ModelError):
    """An action fired in a reachable state assigns a value outside its field's domain."""


class StepError(ModelError):
    """A step does what no step may do; in an action instance that can never be enabled that is not an error."""
