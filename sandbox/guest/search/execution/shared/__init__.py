"""One execution for many alternatives of one expression, for as long as their values agree."""
