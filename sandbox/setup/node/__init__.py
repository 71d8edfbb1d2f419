"""The set-up of Node.js: the requested version, locked packages, their install scripts."""
