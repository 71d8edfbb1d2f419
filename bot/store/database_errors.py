"""Recognizes errors of the databases."""


def is_database_error(error: Exception) -> bool:
    """Return True if a database, ours or the engine's, could not be read or written.

    Args:
        error: The raised error.
    """
    from sqlalchemy.exc import SQLAlchemyError

    return isinstance(error, SQLAlchemyError)
