"""Measure a red check before any edit: bug, flake, base red, outage or not reproducible."""

from bot.mission.triage.again import look_again
from bot.mission.triage.history import note_earlier_endings
from bot.mission.triage.sequence import triage_failure
from bot.mission.triage.values import OUTCOMES, Finding

__all__ = ["OUTCOMES", "Finding", "look_again", "note_earlier_endings", "triage_failure"]
