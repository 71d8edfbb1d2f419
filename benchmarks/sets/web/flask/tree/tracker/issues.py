"""The routes of issues."""

from functools import wraps

from flask import Blueprint, abort, current_app, g, jsonify, request

from tracker.model import STATES, mentions

issues = Blueprint("issues", __name__)


def tracker():
    return current_app.extensions["tracker"]


def login_required(view):
    @wraps(view)
    def wrapped(*args, **kwargs):
        if g.user is None:
            abort(401)
        return view(*args, **kwargs)

    return wrapped


def is_admin(user):
    return user in current_app.config["ADMINS"]


@issues.get("/")
def index():
    page = request.args.get("page", 1, type=int)
    size = current_app.config["PER_PAGE"]
    found = tracker().list(
        state=request.args.get("state"),
        label=request.args.get("label"),
        sort=request.args.get("sort", "number"),
    )
    start = (page - 1) * size
    return jsonify(
        issues=[issue.as_dict() for issue in found[start : start + size]],
        pages=-(-len(found) // size),
        total=len(found),
    )


@issues.get("/summary")
def summary():
    return jsonify(tracker().summary())


@issues.post("/")
@login_required
def create():
    data = request.get_json()
    title = data.get("title", "").strip()
    if not title:
        raise ValueError("a title is needed")
    issue = tracker().create(title, g.user, data.get("priority", "normal"))
    return jsonify(issue.as_dict()), 201, {"Location": f"/issues/{issue.number}"}


@issues.get("/<int:number>")
def show(number):
    issue = tracker().get(number)
    return jsonify(**issue.as_dict(), thread=issue.comments)


@issues.patch("/<int:number>")
@login_required
def change(number):
    issue = tracker().get(number)
    if g.user != issue.author and not is_admin(g.user):
        abort(403)
    data = request.get_json()
    state = data.get("state", issue.state)
    if state not in STATES:
        raise ValueError(f"no state {state}")
    issue.state = state
    issue.title = data.get("title", issue.title)
    return jsonify(issue.as_dict())


@issues.post("/<int:number>/comments")
@login_required
def comment(number):
    issue = tracker().get(number)
    if issue.state == "closed":
        abort(409)
    text = request.get_json()["text"]
    issue.comments.append({"author": g.user, "text": text, "mentions": mentions(text)})
    return jsonify(issue.comments[-1]), 201


@issues.post("/<int:number>/votes")
@login_required
def vote(number):
    return jsonify(votes=tracker().vote(number, g.user))
