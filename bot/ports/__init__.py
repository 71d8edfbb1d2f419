"""Ports of the bot as protocols: a step receives its external dependencies as these."""

from bot.ports.github import AppHooks, GitHub, GitHubReads, GitHubWrites
from bot.ports.memory import BlobStore, LessonStore, Recall, Registry, RegistryReads
from bot.ports.models import AgentDoor, AgentDoors, Chat, Ledger, Mind, Minds
from bot.ports.records import AuditLog, MissionRecords, Readable
from bot.ports.sandboxes import Fixer, OpenWorkspace, Workspace
from bot.ports.services import Services
from bot.ports.work import (
    Checkpoint,
    Clock,
    DeliveryInbox,
    Meter,
    Meters,
    MissionQueue,
    Notice,
    PatientCheckpoint,
    Progress,
    Switchboard,
    Work,
)

__all__ = [
    "AgentDoor",
    "AgentDoors",
    "AppHooks",
    "AuditLog",
    "BlobStore",
    "Chat",
    "Checkpoint",
    "Clock",
    "DeliveryInbox",
    "Fixer",
    "GitHub",
    "GitHubReads",
    "GitHubWrites",
    "Ledger",
    "LessonStore",
    "Meter",
    "Meters",
    "Mind",
    "Minds",
    "MissionQueue",
    "MissionRecords",
    "Notice",
    "OpenWorkspace",
    "PatientCheckpoint",
    "Progress",
    "Readable",
    "Recall",
    "Registry",
    "RegistryReads",
    "Services",
    "Switchboard",
    "Work",
    "Workspace",
]
