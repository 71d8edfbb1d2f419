"""The schema of our database: its migrations, for SQLite and PostgreSQL."""
