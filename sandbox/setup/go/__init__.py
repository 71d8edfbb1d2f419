"""The set-up of Go: the requested version, its compiled library, downloaded modules."""
