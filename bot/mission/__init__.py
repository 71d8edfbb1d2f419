"""Step 3. The mission loop: one file per stage, in the order of loop.py."""
