"""What happens in a set-up sandbox: an interpreter is chosen, requirements are installed, commands are run."""
