"""Read failures: reports, error signatures, and the places they point at."""
