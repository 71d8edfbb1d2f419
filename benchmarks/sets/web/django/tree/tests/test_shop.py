import pytest

from shop.models import Line, Order, Product, Voucher

pytestmark = pytest.mark.django_db


@pytest.fixture
def tea():
    return Product.objects.create(name="Tea", description="green leaves", price=1250, stock=5)


@pytest.fixture
def mug():
    return Product.objects.create(name="Mug", description="for tea", price=800, stock=2)


def names(answer):
    return [item["name"] for item in answer.json()["items"]]


def put(client, product, count=1):
    body = {"product": product.pk, "count": count}
    return client.post("/basket/add/", body, content_type="application/json")


def buy(client, **more):
    return client.post("/checkout/", {"email": "Ann@example.org", **more})


def test_a_product_shows_its_price(tea):
    assert str(tea) == "Tea (12.50)"


def test_products_are_listed_by_name(client, tea, mug):
    answer = client.get("/products/")
    assert names(answer) == ["Mug", "Tea"]
    assert answer.json()["total"] == 2
    assert answer.json()["items"][1] == {"id": tea.pk, "name": "Tea", "price": 1250, "stock": 5}


def test_only_available_products_are_listed(client, tea):
    Product.objects.create(name="Gone", price=1, stock=0)
    Product.objects.create(name="Hidden", price=1, stock=3, active=False)
    assert names(client.get("/products/")) == ["Tea"]


def test_products_are_found_by_name_and_description(client, tea, mug):
    Product.objects.create(name="Spoon", price=300, stock=9)
    assert names(client.get("/products/?q=TEA")) == ["Mug", "Tea"]
    assert names(client.get("/products/?q=spo")) == ["Spoon"]


def test_products_are_ordered(client, tea, mug):
    assert names(client.get("/products/?order=price")) == ["Mug", "Tea"]
    assert names(client.get("/products/?order=-price")) == ["Tea", "Mug"]
    assert client.get("/products/?order=stock").status_code == 400


def test_pages_have_three_products(client):
    for name in "ABCDEFG":
        Product.objects.create(name=name, price=100, stock=1)
    assert names(client.get("/products/")) == ["A", "B", "C"]
    assert names(client.get("/products/?page=2")) == ["D", "E", "F"]
    assert names(client.get("/products/?page=3")) == ["G"]
    assert names(client.get("/products/?page=0")) == ["A", "B", "C"]


def test_the_basket_counts(client, tea, mug):
    assert put(client, tea).status_code == 201
    put(client, tea, 2)
    put(client, mug)
    assert client.get("/basket/").json()["lines"] == [
        {"name": "Mug", "count": 1},
        {"name": "Tea", "count": 3},
    ]


def test_a_product_leaves_the_basket(client, tea):
    put(client, tea, 2)
    put(client, tea, -2)
    assert client.get("/basket/").json() == {"lines": [], "shipping": 0, "total": 0}


def test_only_available_products_go_into_the_basket(client, mug):
    mug.active = False
    mug.save()
    assert put(client, mug).status_code == 404


def test_adding_needs_a_post(client):
    assert client.get("/basket/add/").status_code == 405


@pytest.mark.parametrize("count, shipping", [(1, 490), (3, 490), (4, 0), (5, 0)])
def test_shipping_is_free_from_fifty(client, tea, count, shipping):
    put(client, tea, count)
    answer = client.get("/basket/").json()
    assert answer["shipping"] == shipping
    assert answer["total"] == 1250 * count + shipping


def test_an_order_takes_from_the_stock(client, tea, mug):
    put(client, tea, 2)
    put(client, mug)
    answer = buy(client)
    assert answer.status_code == 201
    assert answer.json()["total"] == 3300 + 490
    tea.refresh_from_db()
    mug.refresh_from_db()
    assert (tea.stock, mug.stock) == (3, 1)
    order = Order.objects.get(pk=answer.json()["order"])
    assert order.email == "ann@example.org"
    assert sum(line.amount for line in order.lines.all()) == 3300
    assert client.get("/basket/").json()["lines"] == []


def test_the_last_piece_is_sold(client, mug):
    put(client, mug, 2)
    assert buy(client).status_code == 201
    mug.refresh_from_db()
    assert mug.stock == 0


def test_more_than_there_is_cannot_be_bought(client, tea, mug):
    put(client, mug, 1)
    put(client, tea, 6)
    answer = buy(client)
    assert (answer.status_code, answer.json()) == (409, {"error": "only 5 left"})
    assert (Order.objects.count(), Line.objects.count()) == (0, 0)
    mug.refresh_from_db()
    assert mug.stock == 2
    assert len(client.get("/basket/").json()["lines"]) == 2


def test_an_empty_basket_is_not_ordered(client):
    assert buy(client).status_code == 400


def test_an_address_is_needed(client, tea):
    put(client, tea)
    answer = client.post("/checkout/", {"email": "ann"})
    assert answer.status_code == 422
    assert list(answer.json()["errors"]) == ["email"]


@pytest.mark.parametrize("code", ["SPRING", " spring "])
def test_a_voucher_takes_something_off(client, tea, code):
    Voucher.objects.create(code="SPRING", percent=10)
    put(client, tea)
    assert buy(client, voucher=code).json()["total"] == 1250 - 125 + 490


def test_a_voucher_may_have_a_minimum(client, tea):
    voucher = Voucher.objects.create(code="BIG", percent=15, minimum=2500)
    assert [voucher.discount(total) for total in (2499, 2500, 3333)] == [0, 375, 499]


def test_an_unknown_voucher_is_refused(client, tea):
    put(client, tea)
    answer = buy(client, voucher="NONE")
    assert answer.json() == {"errors": {"voucher": ["no such voucher"]}}


def test_orders_of_an_address_are_listed_newest_first(client, tea, mug):
    put(client, tea, 2)
    put(client, mug)
    first = buy(client).json()["order"]
    put(client, tea)
    second = buy(client).json()["order"]
    rows = client.get("/orders/ANN@example.org/").json()["orders"]
    assert [(row["order"], row["pieces"]) for row in rows] == [(second, 1), (first, 3)]
