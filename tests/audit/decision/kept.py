"""The processes that search for the tests of the audit: started once, so that each test does not trace everything anew."""

from __future__ import annotations

from acked.checker.batch.local import BatchLimits, KeptProcesses

KEPT = KeptProcesses(BatchLimits(1, 1 << 30))
