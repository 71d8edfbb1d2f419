"""Direct access to the library's workflow table, for queries that its API lacks."""

from collections.abc import Sequence
from typing import Any

ENGINE, TABLES = "engine", "tables"
"""Private attributes of the library, not covered by its API; a contract test watches them."""


class LibraryTable:
    """The library's workflow rows, over the library's own connection pool.

    Args:
        engine: The library's SQLAlchemy engine.
        table: The library's SQLAlchemy table.
    """

    def __init__(self, engine: Any, table: Any) -> None:
        self._engine = engine
        self._table = table

    def in_partition(self, name: str, partition: str, states: Sequence[str]) -> tuple[str, ...]:
        """Return the ids of one partition's workflows of one name, oldest first."""
        column = self._table.c
        wanted = (
            column.name == name,
            column.queue_partition_key == partition,
            column.status.in_(states),
        )
        found = (
            self._table.select()
            .with_only_columns(column.workflow_uuid)
            .where(*wanted)
            .order_by(column.created_at)
        )
        with self._engine.connect() as connection:
            return tuple(row[0] for row in connection.execute(found))

    def requeue(self, names: Sequence[str], queue: str, executor: str) -> int:
        """Requeue the workflows that an executor still holds; return their number.

        Workflows that were cancelled or claimed by another executor meanwhile stay untouched.
        """
        column = self._table.c
        still = (
            column.workflow_uuid.in_(list(names)),
            column.status == "PENDING",
            column.executor_id == executor,
        )
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
    """Return the workflow table of a client, or None if the library's internals changed."""
    system = getattr(client, "_sys_db", None)
    engine, tables = getattr(system, ENGINE, None), getattr(system, TABLES, None)
    table = getattr(tables, "workflow_status", None)
    return None if engine is None or table is None else LibraryTable(engine, table)
