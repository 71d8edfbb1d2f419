"""Formats of credentials, by issuer."""

import re

_WORD_BEFORE = r"(?<![A-Za-z0-9_])"
_LONG = r"[A-Za-z0-9_-]"

_WORDS = (
    rf"(?:sk|xai|pplx|lin_api|ntn|nfp|figd|pcsk|gsk|r8|rnd|tskey)[-_]{_LONG}{{20,}}"
    r"|(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{20,}"
    rf"|ya29\.{_LONG}{{20,}}|GOCSPX-{_LONG}{{20,}}"
    rf"|1//0{_LONG}{{20,}}"
    r"|(?:dop|doo|dor)_v1_[a-f0-9]{40,}|shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}"
    rf"|sq0[a-z]{{3}}-{_LONG}{{20,}}|dapi[a-f0-9]{{32}}|key-[a-f0-9]{{32}}"
    rf"|AT(?:ATT3|CTT3|BB){_LONG}{{20,}}|sntry[su]_{_LONG}{{30,}}"
    rf"|hv[sbr]\.{_LONG}{{20,}}|dp\.[a-z]{{2,8}}\.{_LONG}{{30,}}"
    r"|glsa_[A-Za-z0-9_]{30,}|glc_[A-Za-z0-9+/=]{30,}"
    rf"|NRAK-[A-Z0-9]{{25,}}|dckr_[a-z]{{3}}_{_LONG}{{20,}}"
    r"|rubygems_[a-f0-9]{40,}|oy2[a-z0-9]{43}\b|cio[A-Za-z0-9]{32}\b"
    r"|fm[12]_[A-Za-z0-9+/=_-]{40,}|sbp_[a-f0-9]{40}"
    rf"|vercel_[a-z_]{{2,20}}_{_LONG}{{20,}}|PMAK-[a-f0-9-]{{50,}}"
    r"|EZ[AT]K[A-Za-z0-9]{40,}|lsv2_[a-z]{2}_[a-f0-9_]{40,}"
    r"|AKCp[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{40,}"
    rf"|SK[a-f0-9]{{32}}\b|[0-9]{{8,10}}:AA{_LONG}{{30,}}"
    r"|[A-Za-z0-9]{3}8Q~[A-Za-z0-9_.~-]{30,}"
)
"""Formats that begin a word."""

TOKEN_SHAPES = re.compile(
    # Groups share one lookbehind: most characters of a text need one step for a whole group.
    rf"{_WORD_BEFORE}(?:{_WORDS})"
    rf"|(?<![A-Za-z0-9])(?:xox[abeoprs](?:\.[a-z]+)?-[A-Za-z0-9-]{{10,}}|xapp-[A-Za-z0-9-]{{20,}}"
    rf"|npm_[A-Za-z0-9]{{36,}}|(?:hf|api_org)_[A-Za-z0-9]{{30,}}"
    rf"|SG\.{_LONG}{{16,}}\.{_LONG}{{16,}})"
    rf"|(?<![A-Za-z0-9_-])(?:eyJ{_LONG}{{8,}}\.{_LONG}{{0,4096}}\.[A-Za-z0-9_.-]*"
    rf"|eyJ{_LONG}{{8,}}\.{_LONG}{{8,}}|AIza{_LONG}{{35}})"
    r"|(?<![A-Z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Z0-9])"
    r"|g(?:h[pousr]_[A-Za-z0-9_.=-]{16,}"  # also the form with a JWT, of any length
    rf"|ithub_pat_[A-Za-z0-9_]{{20,}}|l(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat|oas)-{_LONG}{{20,}})"
    rf"|pypi-{_LONG}{{30,}}"
    rf"|\.atlasv1\.{_LONG}{{40,}}"
    r"|AGE-SECRET-KEY-1[0-9A-Z]{50,}"
    r"|(?<![A-Za-z0-9_.])v1\.[a-f0-9]{40,}"
    r"|(?<=Private-Lines: )[0-9]{1,3}\s[A-Za-z0-9+/=\s]{20,8000}"
    r"|-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?"
    r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)"
)
"""One match is one credential.

Every alternative starts with a fixed text and never scans a text twice.
"""

_HEADER = (
    r"\b(?:authorization|(?:set-)?cookie|x-[a-z-]{0,20}(?:key|token)|(?:private|job)-token)"
    r"[\"']?\s{0,3}[:=]\s{0,3}[\"']?"
)
AUTHORIZATION = re.compile(
    rf"(?i)({_HEADER}(?:bearer|basic|token|digest|negotiate"
    rf"|ssws)\s{{1,3}})[^\s\"',;*][^\"'\n]{{5,4000}}"
    rf"|({_HEADER})(?=[^\s\"']{{0,200}}[0-9])[A-Za-z0-9+/=_.~%-]{{12,}}[^\"'\n]{{0,4000}}"
)
"""A header with its value."""
USER_INFO = re.compile(
    r"(\b[a-z][a-z0-9+.-]{1,20}://)(?:[^\s/@:\"'<>]{0,200}:[^\s/\"'<>]{1,600}"
    r"|[^\s/@:\"'<>]{16,200})@"
)
KEY_TAIL = re.compile(
    r"\A(?:[A-Za-z0-9+/=\s]|\\[nr]){0,20000}-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
)
"""The rest of a key whose beginning was cut off."""

VALUES = re.compile(
    r"(hooks\.slack\.com/(?:services|workflows|triggers)/"
    r"|discord(?:app)?\.com/api/webhooks/[0-9]{1,20}/"
    r"|webhook\.office\.com/webhookb2/|(?i:\b(?:bearer|ssws)\s{1,3})(?=\S{0,200}[0-9])"
    r"|(?i:\blogin\s{1,3}\S{1,64}\s{1,3}password\s{1,3})"
    r"|(?i:--[a-z-]{0,20}(?:password|token|secret|api-key)[= ][\"']?)(?=\S{0,200}[0-9])"
    r"|[?&;](?:sig|signature|access_token|X-Amz-Signature|X-Amz-Credential"
    r"|X-Goog-Signature)=)[A-Za-z0-9._~+/=%@-]{12,}"
    r"|((?i:\bmachine\s{1,3}\S{1,200}\s{1,3}login\s{1,3}\S{1,64}\s{1,3}password\s{1,3}))\S{1,200}"
)
"""A context that only holds credentials, and its value."""

ASSIGNMENTS = re.compile(
    r"(?i)((?:password|passwd|passphrase|secret|token|api_?key|access_?key|account_?key"
    r"|private_?key|signing_?key"
    r"|fernet_?key|encryption_?key|credentials?|db_?pass|auth)"
    r"[\w.-]{0,40}[\"']?\s{0,3}(?:=>"
    r"|[=:])\s{0,3}(?:b?[\"'])?)([A-Za-z0-9+/=_.~!@#%^&*?-]{8,600})(?=([\"']?))"
)
"""The name of a credential, and a possible value."""
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_MIN_BARE = 14
_VARIED_DIGITS = 4


def is_credential(found: re.Match[str]) -> bool:
    """Return True if an assigned value looks like a credential and not like an identifier."""
    value, quote = found[2], found[3]
    if found.string[found.end(2) : found.end(2) + 1] in {"(", "[", "{"}:
        return False
    if not (any(map(str.isdigit, value)) and any(map(str.isalpha, value))):
        return bool(quote) and len(set(value)) >= _MIN_BARE and not value.isalpha()
    if quote:
        return True
    if (
        len(value) >= _MIN_BARE
        and "_" not in value
        and sum(map(str.isdigit, value)) >= _VARIED_DIGITS
    ):
        return True
    cases = any(map(str.isupper, value)) and any(map(str.islower, value))
    return len(value) >= _MIN_BARE and (cases or not _IDENTIFIER.fullmatch(value))
