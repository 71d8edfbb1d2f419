"""Alembic's entry point: runs the migrations in the given connection's open transaction."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
