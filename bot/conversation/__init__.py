"""Commands from comments, buttons and labels, and the replies to them."""
