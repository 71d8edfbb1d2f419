import pytest

from tracker import create_app
from tracker.model import mentions


@pytest.fixture
def app():
    return create_app(TESTING=True)


@pytest.fixture
def client(app):
    return app.test_client()


@pytest.fixture
def ann(client):
    client.post("/login", data={"name": "ann"})
    return client


def as_user(app, name):
    client = app.test_client()
    client.post("/login", data={"name": name})
    return client


def new(client, title="It breaks", **more):
    answer = client.post("/issues/", json={"title": title, **more})
    assert answer.status_code == 201
    return answer.json["number"]


def test_login_and_logout(client):
    assert client.post("/issues/", json={"title": "x"}).status_code == 401
    assert client.post("/login", data={"name": " ann "}).json == {"user": "ann"}
    assert client.post("/issues/", json={"title": "x"}).status_code == 201
    assert client.post("/logout").status_code == 204
    assert client.post("/issues/", json={"title": "x"}).status_code == 401


def test_a_name_is_needed(client):
    answer = client.post("/login", data={"name": "  "})
    assert (answer.status_code, answer.json) == (400, {"error": "a name is needed"})


def test_an_issue_is_created(ann):
    answer = ann.post("/issues/", json={"title": " It breaks #Ui #core "})
    assert answer.status_code == 201
    assert answer.headers["Location"] == "/issues/1"
    assert answer.json == {
        "number": 1,
        "title": "It breaks #Ui #core",
        "author": "ann",
        "priority": "normal",
        "state": "open",
        "labels": ["Ui", "core"],
        "comments": 0,
        "votes": 0,
    }


def test_a_title_and_a_known_priority_are_needed(ann):
    assert ann.post("/issues/", json={"title": " "}).status_code == 400
    answer = ann.post("/issues/", json={"title": "x", "priority": "urgent"})
    assert (answer.status_code, answer.json["error"]) == (400, "no priority urgent")


def test_an_unknown_issue_is_not_found(client):
    answer = client.get("/issues/7")
    assert (answer.status_code, answer.json) == (404, {"error": "no issue 7"})


def test_the_list_has_pages(ann):
    for n in range(11):
        new(ann, f"issue {n}")
    first = ann.get("/issues/").json
    assert [issue["number"] for issue in first["issues"]] == [1, 2, 3, 4, 5]
    assert (first["pages"], first["total"]) == (3, 11)
    last = ann.get("/issues/?page=3").json
    assert [issue["number"] for issue in last["issues"]] == [11]


def test_five_issues_are_one_page(ann):
    for n in range(5):
        new(ann, f"issue {n}")
    assert ann.get("/issues/").json["pages"] == 1


def test_the_list_is_filtered(ann):
    new(ann, "one #ui")
    new(ann, "two #core")
    ann.patch("/issues/1", json={"state": "closed"})
    numbers = [issue["number"] for issue in ann.get("/issues/?state=open").json["issues"]]
    assert numbers == [2]
    numbers = [issue["number"] for issue in ann.get("/issues/?label=ui").json["issues"]]
    assert numbers == [1]


def test_the_most_urgent_come_first(ann):
    for priority in ("low", "high", "normal", "high"):
        new(ann, priority=priority)
    found = ann.get("/issues/?sort=priority").json["issues"]
    assert [issue["number"] for issue in found] == [2, 4, 3, 1]


def test_the_most_voted_come_first(app, ann):
    for _ in range(3):
        new(ann)
    ann.post("/issues/2/votes")
    ann.post("/issues/3/votes")
    as_user(app, "bob").post("/issues/3/votes")
    found = ann.get("/issues/?sort=votes").json["issues"]
    assert [issue["number"] for issue in found] == [3, 2, 1]


def test_a_second_vote_takes_the_first_back(app, ann):
    number = new(ann)
    assert ann.post(f"/issues/{number}/votes").json == {"votes": 1}
    assert as_user(app, "bob").post(f"/issues/{number}/votes").json == {"votes": 2}
    assert ann.post(f"/issues/{number}/votes").json == {"votes": 1}


def test_the_author_and_admins_change_an_issue(app, ann):
    number = new(ann)
    assert as_user(app, "bob").patch(f"/issues/{number}", json={"title": "x"}).status_code == 403
    assert as_user(app, "root").patch(f"/issues/{number}", json={"title": "x"}).status_code == 200
    answer = ann.patch(f"/issues/{number}", json={"state": "closed"})
    assert (answer.json["state"], answer.json["title"]) == ("closed", "x")


def test_only_known_states_are_taken(ann):
    number = new(ann)
    assert ann.patch(f"/issues/{number}", json={"state": "gone"}).status_code == 400
    assert ann.get(f"/issues/{number}").json["state"] == "open"


def test_comments_are_kept(app, ann):
    number = new(ann)
    answer = as_user(app, "bob").post(
        f"/issues/{number}/comments", json={"text": "me too @Ann @ann"}
    )
    assert answer.status_code == 201
    shown = ann.get(f"/issues/{number}").json
    assert shown["comments"] == 1
    assert shown["thread"] == [{"author": "bob", "text": "me too @Ann @ann", "mentions": ["ann"]}]


def test_a_closed_issue_takes_no_comment(ann):
    number = new(ann)
    ann.patch(f"/issues/{number}", json={"state": "closed"})
    assert ann.post(f"/issues/{number}/comments", json={"text": "x"}).status_code == 409


def test_states_are_counted(ann):
    assert ann.get("/issues/summary").json == {"open": 0, "closed": 0}
    for _ in range(3):
        new(ann)
    ann.patch("/issues/2", json={"state": "closed"})
    assert ann.get("/issues/summary").json == {"open": 2, "closed": 1}


def test_mentions_come_in_order():
    assert mentions("@bob and @Ann, @BOB") == ["bob", "ann"]
    assert mentions("nobody") == []
