"""GitHub's error answers."""

from tests.github_server.entities import Json

DOCS = "https://docs.github.com/rest"


class ApiError(Exception):
    """An answer that is not a success; carries status, body and headers."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        errors: list[Json] | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers or {}
        self.body: Json = {"message": message, "documentation_url": DOCS, "status": str(status)}
        if errors is not None:
            self.body["errors"] = errors


def not_found() -> ApiError:
    """Absent, or not yours to see."""
    return ApiError(404, "Not Found")


def forbidden(needed: str = "") -> ApiError:
    """The App's token lacks a permission."""
    headers = (
        {"x-accepted-github-permissions": needed.replace(":", "=").replace(" or ", "; ")}
        if needed
        else {}
    )
    return ApiError(403, "Resource not accessible by integration", headers=headers)


def invalid(message: str) -> ApiError:
    """422 with a message alone."""
    return ApiError(422, message)


def validation(resource: str, field: str, code: str, message: str | None = None) -> ApiError:
    """422 "Validation Failed" with one entry in `errors`."""
    entry: Json = {"resource": resource, "field": field, "code": code}
    if message is not None:
        entry["message"] = message
    return ApiError(422, "Validation Failed", errors=[entry])
