"""From nothing to a working App in minutes: the manifest flow, guarded by a code from the console."""
