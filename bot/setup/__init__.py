"""From nothing to a working App in minutes: manifest flow, live checks."""
