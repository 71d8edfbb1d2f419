"""The migrations, in the order of their numbers; together they define our tables."""
