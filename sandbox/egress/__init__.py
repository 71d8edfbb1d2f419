"""The only way out of a set-up sandbox: a proxy on a unix socket, logged and limited.

The backends open one proxy for each set-up sandbox. It uses the standard library, and httpx for
index pages.
"""
