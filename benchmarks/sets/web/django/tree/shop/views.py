import json

from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import JsonResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_POST

from shop.basket import Basket
from shop.forms import CheckoutForm
from shop.models import Line, Order, Product

PAGE = 3


def show_product(product):
    return {"id": product.pk, "name": product.name, "price": product.price, "stock": product.stock}


def products(request):
    found = Product.objects.available()
    text = request.GET.get("q", "")
    if text:
        found = found.matching(text)
    order = request.GET.get("order", "name")
    if order not in ("name", "price", "-price"):
        return JsonResponse({"error": "unknown order"}, status=400)
    page = max(int(request.GET.get("page", 1)), 1)
    start = (page - 1) * PAGE
    items = found.order_by(order, "pk")[start : start + PAGE]
    return JsonResponse({"total": found.count(), "items": [show_product(p) for p in items]})


def basket(request):
    held = Basket(request.session)
    lines = [{"name": product.name, "count": count} for product, count in held.lines()]
    return JsonResponse({"lines": lines, "shipping": held.shipping(), "total": held.total()})


@require_POST
def add(request):
    data = json.loads(request.body)
    product = get_object_or_404(Product.objects.available(), pk=data["product"])
    held = Basket(request.session)
    held.add(product, data.get("count", 1))
    return JsonResponse({"total": held.total()}, status=201)


@require_POST
def checkout(request):
    held = Basket(request.session)
    if not held.counts:
        return JsonResponse({"error": "the basket is empty"}, status=400)
    form = CheckoutForm(request.POST)
    if not form.is_valid():
        return JsonResponse({"errors": form.errors}, status=422)
    try:
        with transaction.atomic():
            order = place(held, form.cleaned_data["email"], form.cleaned_data["voucher"])
    except ValidationError as error:
        return JsonResponse({"error": error.message}, status=409)
    held.clear()
    return JsonResponse({"order": order.pk, "total": order.total}, status=201)


def place(held, email, voucher):
    order = Order.objects.create(email=email, total=held.total(voucher))
    for product, count in held.lines():
        product.take(count)
        Line.objects.create(order=order, product=product, count=count, price=product.price)
    return order


def orders(request, email):
    found = Order.objects.filter(email=email.lower())
    rows = [
        {
            "order": order.pk,
            "total": order.total,
            "pieces": sum(line.count for line in order.lines.all()),
        }
        for order in found
    ]
    return JsonResponse({"orders": rows})
