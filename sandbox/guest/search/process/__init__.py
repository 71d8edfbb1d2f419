"""Processes of the search: forks, limits, pipes, and the checkout kept in memory."""
