"""Who has which meeting room, and when."""
