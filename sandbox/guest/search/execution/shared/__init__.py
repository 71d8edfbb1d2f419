"""One execution shared by many alternatives of an expression, while their values agree."""
