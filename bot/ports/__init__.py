"""Every seam of the bot as a protocol: what a step needs from outside is passed in as one of these."""

from bot.ports.github import AppHooks, GitHub, GitHubRuns, GitHubUpkeep
from bot.ports.memory import BlobStore, LessonStore, Recall, Registry
from bot.ports.models import AgentDoor, AgentDoors, Chat, Ledger, Mind, Minds
from bot.ports.sandboxes import Fixer, OpenWorkspace, Workspace
from bot.ports.work import (
    Checkpoint,
    Clock,
    DeliveryInbox,
    Meter,
    Meters,
    MissionQueue,
    PatientCheckpoint,
    Progress,
    Switchboard,
    Work,
)

__all__ = [
    "AgentDoor",
    "AgentDoors",
    "AppHooks",
    "BlobStore",
    "Chat",
    "Checkpoint",
    "Clock",
    "DeliveryInbox",
    "Fixer",
    "GitHub",
    "GitHubRuns",
    "GitHubUpkeep",
    "Ledger",
    "LessonStore",
    "Meter",
    "Meters",
    "Mind",
    "Minds",
    "MissionQueue",
    "OpenWorkspace",
    "PatientCheckpoint",
    "Progress",
    "Recall",
    "Registry",
    "Switchboard",
    "Work",
    "Workspace",
]
