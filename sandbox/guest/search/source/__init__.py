"""Python source: parse files, resolve names and types, compile functions and splice edits."""
