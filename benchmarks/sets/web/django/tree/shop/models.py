"""Products, baskets and orders."""

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q


class ProductQuerySet(models.QuerySet):
    def available(self):
        """Return the products that can be bought."""
        return self.filter(active=True, stock__gt=0)

    def matching(self, text):
        """Return the products whose name or description contains a text."""
        return self.filter(Q(name__icontains=text) | Q(description__icontains=text))


class Product(models.Model):
    name = models.CharField(max_length=100)
    description = models.TextField(blank=True)
    price = models.IntegerField()
    stock = models.IntegerField(default=0)
    active = models.BooleanField(default=True)

    objects = ProductQuerySet.as_manager()

    def __str__(self):
        return f"{self.name} ({self.price / 100:.2f})"

    def take(self, count):
        """Take pieces from the stock."""
        if count > self.stock:
            raise ValidationError(f"only {self.stock} left")
        self.stock -= count
        self.save()


class Voucher(models.Model):
    code = models.CharField(max_length=20, unique=True)
    percent = models.IntegerField()
    minimum = models.IntegerField(default=0)

    def discount(self, total):
        """Return what is taken off, in whole cents."""
        if total < self.minimum:
            return 0
        return total * self.percent // 100


class Order(models.Model):
    email = models.EmailField()
    total = models.IntegerField()
    paid = models.BooleanField(default=False)

    class Meta:
        ordering = ["-id"]


class Line(models.Model):
    order = models.ForeignKey(Order, related_name="lines", on_delete=models.CASCADE)
    product = models.ForeignKey(Product, on_delete=models.PROTECT)
    count = models.IntegerField()
    price = models.IntegerField()

    @property
    def amount(self):
        return self.count * self.price
