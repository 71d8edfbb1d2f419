"""Known facts about one search: the reproduced baseline, the suspect places and the budget."""
