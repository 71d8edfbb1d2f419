"""The tables of our own database: the migrations that make them, for SQLite and PostgreSQL alike."""
