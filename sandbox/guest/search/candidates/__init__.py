"""Candidate patches: the sources that generate them and the templates of each kind of mistake."""
