"""The basket in the session."""

from django.conf import settings

from shop.models import Product

KEY = "basket"


class Basket:
    def __init__(self, session):
        self.session = session
        self.counts = session.setdefault(KEY, {})

    def _save(self):
        self.session[KEY] = self.counts
        self.session.modified = True

    def add(self, product, count=1):
        key = str(product.pk)
        self.counts[key] = self.counts.get(key, 0) + count
        if self.counts[key] <= 0:
            del self.counts[key]
        self._save()

    def clear(self):
        self.counts = {}
        self._save()

    def lines(self):
        """Return products with their counts, by name."""
        products = Product.objects.filter(pk__in=self.counts)
        return [(product, self.counts[str(product.pk)]) for product in products.order_by("name")]

    def subtotal(self):
        return sum(product.price * count for product, count in self.lines())

    def shipping(self):
        subtotal = self.subtotal()
        if subtotal == 0 or subtotal >= settings.FREE_SHIPPING_FROM:
            return 0
        return settings.SHIPPING

    def total(self, voucher=None):
        subtotal = self.subtotal()
        if voucher is not None:
            subtotal -= voucher.discount(subtotal)
        return subtotal + self.shipping()
