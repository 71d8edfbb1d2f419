"""The set-up of an environment: one folder for each toolchain, in one order for all of them."""
