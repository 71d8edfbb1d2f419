"""One mission with its stages, detail and actions, as the command line and the API show it."""

from bot.domain.mission_record import MissionRecord, MissionView
from bot.ports import AuditLog, MissionRecords, Readable


async def view_mission(
    record: MissionRecord, records: MissionRecords, audit: AuditLog, readable: Readable = None
) -> MissionView:
    """Return everything that may be shown about a mission.

    Args:
        record: The mission.
        records: The table of missions.
        audit: The audit log.
        readable: The repositories whose actions may be shown; None for all.

    Raises:
        StoreError: the database cannot be used.
    """
    detail = await records.detail(record.mission_id)
    if detail is not None:
        detail.pop("request", None)  # unsanitized, for a retry only
    return MissionView(
        **dict(record),
        stages=await records.stages(record.mission_id),
        detail=detail,
        audit=await audit.entries(mission=record.mission_id, readable=readable),
    )
