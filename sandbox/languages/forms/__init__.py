"""Normal forms of source files: equal forms are the same program."""
