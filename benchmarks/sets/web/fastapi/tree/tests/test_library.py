import pytest
from fastapi.testclient import TestClient

from library.main import STAFF_KEY, app
from library.store import Library

STAFF = {"X-Key": STAFF_KEY}
DAY = {"X-Today": "2024-03-01"}


@pytest.fixture
def client():
    app.state.library = Library()
    return TestClient(app)


def add(client, title="Emma", **more):
    book = {"title": title, "author": "Austen", "year": 1815, **more}
    answer = client.post("/books", json=book, headers=STAFF)
    assert answer.status_code == 201
    return answer.json()["number"]


def lend(client, book, reader="ann", day="2024-03-01"):
    return client.post("/loans", json={"book": book, "reader": reader}, headers={"X-Today": day})


def test_a_book_is_added_by_staff_only(client):
    book = {"title": "Emma", "author": "Austen", "year": 1815}
    assert client.post("/books", json=book).status_code == 401
    assert client.post("/books", json=book, headers={"X-Key": "x"}).status_code == 403
    answer = client.post("/books", json=book, headers=STAFF)
    assert answer.status_code == 201
    assert answer.json() == {
        "number": 1,
        "title": "Emma",
        "author": "Austen",
        "year": 1815,
        "available": 1,
        "tags": [],
    }


def test_tags_are_sorted_and_unique(client):
    number = add(client, tags=["novel", "classic", "novel"])
    assert client.get(f"/books/{number}").json()["tags"] == ["classic", "novel"]


def test_a_title_is_needed(client):
    book = {"title": "", "author": "Austen", "year": 1815}
    assert client.post("/books", json=book, headers=STAFF).status_code == 422


@pytest.mark.parametrize("year, status", [(1449, 422), (1450, 201), (2100, 201), (2101, 422)])
def test_years_are_limited(client, year, status):
    book = {"title": "A", "author": "B", "year": year}
    assert client.post("/books", json=book, headers=STAFF).status_code == status


def test_an_unknown_book_is_not_found(client):
    answer = client.get("/books/9")
    assert answer.status_code == 404
    assert answer.json() == {"detail": "no book 9"}


def test_books_are_found_by_title_and_author_in_any_case(client):
    add(client, "Emma")
    add(client, "Persuasion")
    add(client, "Ulysses", author="Joyce")
    titles = [book["title"] for book in client.get("/books?text=AUSTEN").json()["items"]]
    assert titles == ["Emma", "Persuasion"]
    titles = [book["title"] for book in client.get("/books?text=ulys").json()["items"]]
    assert titles == ["Ulysses"]


def test_books_are_found_by_tag(client):
    add(client, "Emma", tags=["novel"])
    add(client, "Poems", tags=["verse"])
    page = client.get("/books?tag=verse").json()
    assert (page["total"], page["items"][0]["title"]) == (1, "Poems")


def test_pages_follow_each_other(client):
    for title in "EDCBA":
        add(client, title)
    page = client.get("/books?limit=2").json()
    assert [book["title"] for book in page["items"]] == ["A", "B"]
    assert (page["total"], page["next"]) == (5, 2)
    page = client.get("/books?limit=2&offset=2").json()
    assert [book["title"] for book in page["items"]] == ["C", "D"]
    assert page["next"] == 4
    assert client.get("/books?limit=2&offset=4").json()["next"] is None
    assert client.get("/books?limit=5").json()["next"] is None


def test_a_loan_lasts_two_weeks_and_takes_a_copy(client):
    number = add(client, copies=2)
    answer = lend(client, number, "Ann")
    assert answer.status_code == 201
    assert answer.json()["due"] == "2024-03-15"
    assert answer.json()["reader"] == "ann"
    assert client.get(f"/books/{number}").json()["available"] == 1


def test_the_last_copy_is_lent_once(client):
    number = add(client)
    assert lend(client, number).status_code == 201
    answer = lend(client, number, "bob")
    assert (answer.status_code, answer.json()["detail"]) == (409, "Emma is lent")


def test_three_loans_are_the_most(client):
    number = add(client, copies=5)
    assert [lend(client, number).status_code for _ in range(4)] == [201, 201, 201, 409]


def test_nobody_with_an_overdue_loan_gets_another(client):
    number = add(client, copies=5)
    lend(client, number)
    assert lend(client, number, day="2024-03-15").status_code == 201
    assert lend(client, number, day="2024-03-16").status_code == 409
    assert lend(client, number, "bob", day="2024-03-16").status_code == 201


def test_loans_of_a_reader_come_by_their_date(client):
    number = add(client, copies=5)
    first = lend(client, number, day="2024-03-05").json()["number"]
    second = lend(client, number, day="2024-03-02").json()["number"]
    lend(client, number, "bob")
    loans = client.get("/readers/ANN/loans").json()
    assert [loan["number"] for loan in loans] == [second, first]


def test_a_loan_is_renewed_twice(client):
    loan = lend(client, add(client)).json()["number"]
    answer = client.post(f"/loans/{loan}/renew", headers=DAY)
    assert (answer.json()["due"], answer.json()["renewals"]) == ("2024-03-29", 1)
    assert client.post(f"/loans/{loan}/renew", headers=DAY).json()["due"] == "2024-04-12"
    assert client.post(f"/loans/{loan}/renew", headers=DAY).status_code == 409


def test_an_overdue_loan_is_not_renewed(client):
    loan = lend(client, add(client)).json()["number"]
    assert client.post(f"/loans/{loan}/renew", headers={"X-Today": "2024-03-16"}).status_code == 409
    assert client.post(f"/loans/{loan}/renew", headers={"X-Today": "2024-03-15"}).status_code == 200
    assert client.post("/loans/99/renew", headers=DAY).status_code == 404


@pytest.mark.parametrize(
    "day, fee",
    [
        ("2024-03-10", 0),
        ("2024-03-15", 0),
        ("2024-03-16", 20),
        ("2024-03-25", 200),
        ("2024-06-01", 500),
    ],
)
def test_a_late_return_costs_a_fee(client, day, fee):
    number = add(client)
    loan = lend(client, number).json()["number"]
    answer = client.delete(f"/loans/{loan}", headers={"X-Today": day})
    assert answer.json() == {"fee": fee}
    assert client.get(f"/books/{number}").json()["available"] == 1
    assert client.delete(f"/loans/{loan}", headers=DAY).status_code == 404


def test_a_lent_book_is_not_removed(client):
    number = add(client, copies=2)
    loan = lend(client, number).json()["number"]
    assert client.delete(f"/books/{number}", headers=STAFF).status_code == 409
    client.delete(f"/loans/{loan}", headers=DAY)
    assert client.delete(f"/books/{number}", headers=STAFF).status_code == 204
    assert client.get(f"/books/{number}").status_code == 404
