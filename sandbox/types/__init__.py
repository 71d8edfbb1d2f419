"""The facts the sandbox reports, and what it is asked: frozen values that serialise to JSON."""

from sandbox.types.checkout import (
    ArchiveSource,
    ChangeAction,
    Checkout,
    FileChange,
    FileEdit,
    FolderSource,
    GitSource,
    JobHints,
    TrustTier,
)
from sandbox.types.frozen import Frozen
from sandbox.types.log import LogReading, LogSignal
from sandbox.types.recipe import Egress, Fidelity, Recipe, SourceDiff, StepKind, WorkspaceFacts
from sandbox.types.results import (
    FAILURES_IN_FULL,
    CommandResult,
    FileContext,
    RunVerdict,
    TestOrder,
    TestReport,
    TestResult,
    TestStatus,
)
from sandbox.types.search import (
    NearMiss,
    SearchRequest,
    Survivor,
    SuspectLine,
    TrialDone,
    TrialEvent,
    TrialProgress,
    TrialStarted,
)

__all__ = [
    "FAILURES_IN_FULL",
    "ArchiveSource",
    "ChangeAction",
    "Checkout",
    "CommandResult",
    "Egress",
    "Fidelity",
    "FileChange",
    "FileContext",
    "FileEdit",
    "FolderSource",
    "Frozen",
    "GitSource",
    "JobHints",
    "LogReading",
    "LogSignal",
    "NearMiss",
    "Recipe",
    "RunVerdict",
    "SearchRequest",
    "SourceDiff",
    "StepKind",
    "Survivor",
    "SuspectLine",
    "TestOrder",
    "TestReport",
    "TestResult",
    "TestStatus",
    "TrialDone",
    "TrialEvent",
    "TrialProgress",
    "TrialStarted",
    "TrustTier",
    "WorkspaceFacts",
]
