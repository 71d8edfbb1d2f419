"""Our own tables, in SQLite or PostgreSQL."""
