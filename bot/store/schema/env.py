"""Alembic's entry: runs the migrations on the connection it is given, inside its open transaction."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
