"""The migrations, one file each, in the order of their numbers; together they are the definition of our tables."""
