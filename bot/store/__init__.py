"""Our own tables: one database by one URL, SQLite or PostgreSQL."""
