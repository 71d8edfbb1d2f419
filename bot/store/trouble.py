"""Tells the errors of the library below every database from all others."""


def is_of_the_database(error: Exception) -> bool:
    """Whether a database could not be read or written, be it ours or the engine's.

    Args:
        error: What somebody raised.
    """
    from sqlalchemy.exc import SQLAlchemyError

    return isinstance(error, SQLAlchemyError)
