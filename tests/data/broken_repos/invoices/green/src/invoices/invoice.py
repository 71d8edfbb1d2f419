"""An invoice and its lines."""

from dataclasses import dataclass, field

from invoices.discounts import discount
from invoices.money import format_cents, percent_of


@dataclass(frozen=True)
class Line:
    """Some pieces of one article."""

    article: str
    quantity: int
    unit_cents: int

    @property
    def gross_cents(self):
        return self.quantity * self.unit_cents

    @property
    def net_cents(self):
        return self.gross_cents - discount(self.gross_cents, self.quantity)


@dataclass
class Invoice:
    """What a customer owes."""

    tax_percent: int = 20
    lines: list = field(default_factory=list)

    def add(self, article, quantity, unit_cents):
        if quantity <= 0:
            raise ValueError("quantity must be positive")
        self.lines.append(Line(article, quantity, unit_cents))
        return self

    @property
    def net_cents(self):
        return sum(line.net_cents for line in self.lines)

    @property
    def total_cents(self):
        return self.net_cents + percent_of(self.net_cents, self.tax_percent)

    def summary(self):
        return f"{len(self.lines)} lines, {format_cents(self.total_cents)}"
