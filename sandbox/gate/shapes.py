"""What credentials look like, whoever made them."""

import re

TOKEN_SHAPES = re.compile(
    r"gh[pousr]_[A-Za-z0-9_.=-]{16,}"  # also the form that carries a JWT, of any length
    r"|github_pat_[A-Za-z0-9_]{20,}"
    r"|(?<![A-Za-z0-9_])sk-[A-Za-z0-9_-]{20,}"
    r"|(?<![A-Za-z0-9])(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}"
    r"|(?<![A-Z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Z0-9])"
    r"|(?<![A-Za-z0-9])xox[abeoprs](?:\.[a-z]+)?-[A-Za-z0-9-]{10,}|(?<![A-Za-z0-9])xapp-[A-Za-z0-9-]{20,}"
    r"|(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"
    r"|glpat-[A-Za-z0-9_-]{20,}"
    r"|(?<![A-Za-z0-9])npm_[A-Za-z0-9]{36,}"
    r"|pypi-[A-Za-z0-9_-]{30,}"
    r"|(?<![A-Za-z0-9])hf_[A-Za-z0-9]{30,}"
    r"|(?<![A-Za-z0-9_-])AIza[A-Za-z0-9_-]{35}"
    r"|(?<![A-Za-z0-9])SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"
    r"|-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?"
    r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)"
)
"""One match is one credential. Every alternative starts at a fixed text and never scans the same text twice."""

AUTHORIZATION = re.compile(
    r"(?i)(\bauthorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:bearer|basic|token)\s{1,3})[^\s\"',;]{6,}"
)
USER_INFO = re.compile(r"(\b[a-z][a-z0-9+.-]{1,20}://)[^\s/@:\"'<>]{0,200}:[^\s/@\"'<>]{1,600}@")
KEY_TAIL = re.compile(r"\A(?:[A-Za-z0-9+/=\s]|\\[nr]){0,20000}-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
"""The rest of a key whose beginning was cut off."""
