"""Step 4. Report outcomes to people in the places where they work."""
