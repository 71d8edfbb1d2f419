"""Right and wrong changes of every source, and how well one probability separates them."""
