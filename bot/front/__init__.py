"""The HTTP server in front of the service: connections, heads and bodies within limits before any handler runs."""
