"""Accounts with the ceilings a test names."""

from bot.domain.account import Account, Ceiling, Kind, Scope


def an_account(**changes: object) -> Account:
    """Of a mission; `usd_per_day=0.5` is a ceiling."""
    names = {f"{kind}_per_{scope}": (kind, scope) for kind in Kind for scope in Scope}
    ceilings = tuple(
        Ceiling.model_validate(
            {
                "name": name,
                "kind": names[name][0],
                "scope": names[name][1],
                "most": changes.pop(name),
            }
        )
        for name in tuple(changes)
        if name in names
    )
    values = {"mission": "m-1", "repository": "acme/shop", "pull_request": "7", "day": "2026-01-02"}
    return Account.model_validate(values | {"ceilings": ceilings} | changes)
