"""Small repositories whose failure is known: what triage has to call each, and what it then calls it."""
