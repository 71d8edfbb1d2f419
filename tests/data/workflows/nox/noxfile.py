import nox


@nox.session
def tests(session):
    session.install("pytest")
    session.install("-e", ".")
    session.run("pytest", "-q", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    session.install("ruff")
    session.run("ruff", "check", ".")
