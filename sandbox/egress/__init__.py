"""The only way out of a set-up sandbox: a proxy of ours on a unix socket, for listed hosts, watched and bounded.

Above: the backends open one per set-up sandbox. Below: the standard library, and httpx for the index's pages.
"""
