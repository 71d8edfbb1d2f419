"""Step 1. Something happened on GitHub: is it for us, and what does it ask?"""
