"""The service's HTTP server: limits on connections, heads and bodies before any handler runs."""
