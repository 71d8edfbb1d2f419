"""Books and loans, kept in memory."""

from dataclasses import dataclass, field
from datetime import date, timedelta

LOAN_DAYS = 14
MOST_LOANS = 3
MOST_RENEWALS = 2


class NotFound(Exception):
    """There is no such book or loan."""


class Refused(Exception):
    """The library's rules forbid it."""


@dataclass
class Book:
    number: int
    title: str
    author: str
    year: int
    copies: int = 1
    tags: list[str] = field(default_factory=list)


@dataclass
class Loan:
    number: int
    book: int
    reader: str
    due: date
    renewals: int = 0


class Library:
    """All books and loans."""

    def __init__(self) -> None:
        self.books: dict[int, Book] = {}
        self.loans: dict[int, Loan] = {}
        self._next = 1

    def _number(self) -> int:
        number = self._next
        self._next += 1
        return number

    def add(self, title: str, author: str, year: int, copies: int, tags: list[str]) -> Book:
        book = Book(self._number(), title.strip(), author.strip(), year, copies, sorted(set(tags)))
        self.books[book.number] = book
        return book

    def book(self, number: int) -> Book:
        try:
            return self.books[number]
        except KeyError:
            raise NotFound(f"no book {number}") from None

    def available(self, number: int) -> int:
        """Return how many copies of a book are on the shelf."""
        lent = sum(1 for loan in self.loans.values() if loan.book == number)
        return self.book(number).copies - lent

    def search(self, text: str = "", tag: str | None = None) -> list[Book]:
        """Return the books whose title or author contains a text, by title."""
        wanted = text.lower()
        found = [
            book
            for book in self.books.values()
            if wanted in book.title.lower() or wanted in book.author.lower()
        ]
        if tag is not None:
            found = [book for book in found if tag in book.tags]
        return sorted(found, key=lambda book: book.title.lower())

    def lend(self, number: int, reader: str, today: date) -> Loan:
        book = self.book(number)
        mine = [loan for loan in self.loans.values() if loan.reader == reader]
        if len(mine) >= MOST_LOANS:
            raise Refused(f"{reader} has {len(mine)} loans")
        if any(loan.due < today for loan in mine):
            raise Refused(f"{reader} has an overdue loan")
        if self.available(number) < 1:
            raise Refused(f"{book.title} is lent")
        loan = Loan(self._number(), number, reader, today + timedelta(days=LOAN_DAYS))
        self.loans[loan.number] = loan
        return loan

    def renew(self, number: int, today: date) -> Loan:
        loan = self.loans.get(number)
        if loan is None:
            raise NotFound(f"no loan {number}")
        if loan.renewals >= MOST_RENEWALS:
            raise Refused("renewed too often")
        if loan.due < today:
            raise Refused("it is overdue")
        loan.renewals += 1
        loan.due = loan.due + timedelta(days=LOAN_DAYS)
        return loan

    def give_back(self, number: int, today: date) -> int:
        """End a loan. Return the fee in cents."""
        if number not in self.loans:
            raise NotFound(f"no loan {number}")
        loan = self.loans.pop(number)
        return fee(loan.due, today)


def fee(due: date, today: date) -> int:
    """Return the fee for a late return: 20 cents a day, at most 5 euros."""
    late = (today - due).days
    if late <= 0:
        return 0
    return min(late * 20, 500)
