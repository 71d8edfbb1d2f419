"""What the interface takes and returns."""

from datetime import date

from pydantic import BaseModel, Field

from library.store import Book, Library, Loan


class NewBook(BaseModel):
    title: str = Field(min_length=1, max_length=200)
    author: str
    year: int = Field(ge=1450, le=2100)
    copies: int = Field(default=1, ge=1)
    tags: list[str] = []


class BookView(BaseModel):
    number: int
    title: str
    author: str
    year: int
    available: int
    tags: list[str]


class Page(BaseModel):
    total: int
    items: list[BookView]
    next: int | None = None


class LoanRequest(BaseModel):
    book: int
    reader: str = Field(min_length=1)


class LoanView(BaseModel):
    number: int
    book: int
    reader: str
    due: date
    renewals: int


def show_book(library: Library, book: Book) -> BookView:
    return BookView(
        number=book.number,
        title=book.title,
        author=book.author,
        year=book.year,
        available=library.available(book.number),
        tags=book.tags,
    )


def show_loan(loan: Loan) -> LoanView:
    return LoanView(
        number=loan.number,
        book=loan.book,
        reader=loan.reader,
        due=loan.due,
        renewals=loan.renewals,
    )
