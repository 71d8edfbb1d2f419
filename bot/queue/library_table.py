"""The library's table of workflows, for what it has no call for: one repository's missions, and what is still ours."""

from collections.abc import Sequence
from typing import Any

ENGINE, TABLES = "engine", "tables"
"""What is private in the library, and promised nowhere; a contract test watches it."""


class LibraryTable:
    """Its rows of workflows, by its own connection.

    Args:
        engine: Of the library below it.
        table: As that library knows it.
    """

    def __init__(self, engine: Any, table: Any) -> None:
        self._engine = engine
        self._table = table

    def in_partition(self, name: str, partition: str, states: Sequence[str]) -> tuple[str, ...]:
        """The ids of the workflows of one kind in one partition, the oldest first."""
        column = self._table.c
        wanted = (column.name == name, column.queue_partition_key == partition, column.status.in_(states))
        found = self._table.select().with_only_columns(column.workflow_uuid).where(*wanted).order_by(column.created_at)
        with self._engine.connect() as connection:
            return tuple(row[0] for row in connection.execute(found))

    def put_back(self, names: Sequence[str], queue: str, executor: str) -> int:
        """Put what an executor still works on, as the rows say at this moment, in a line again; how many.

        Somebody who stopped it meanwhile, or an executor who took it, keeps it.
        """
        column = self._table.c
        still = (column.workflow_uuid.in_(list(names)), column.status == "PENDING", column.executor_id == executor)
        back = self._table.update().where(*still)
        with self._engine.begin() as connection:
            changed = connection.execute(
                back.values(
                    status="ENQUEUED",
                    owner_xid=None,
                    queue_name=queue,
                    recovery_attempts=0,
                    workflow_deadline_epoch_ms=None,
                    deduplication_id=None,
                    started_at_epoch_ms=None,
                    completed_at=None,
                )
            )
            return int(changed.rowcount)


def library_table(client: Any) -> LibraryTable | None:
    """The table behind a client of the library, while it is where it was."""
    system = getattr(client, "_sys_db", None)
    engine, tables = getattr(system, ENGINE, None), getattr(system, TABLES, None)
    table = getattr(tables, "workflow_status", None)
    return None if engine is None or table is None else LibraryTable(engine, table)
