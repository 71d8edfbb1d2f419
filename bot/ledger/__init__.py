"""The ledger of costs and run time: reserved before use, settled after it, within every limit."""
