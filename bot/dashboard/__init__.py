"""The dashboard: pages about missions, rendered on the server; they work without JavaScript."""
