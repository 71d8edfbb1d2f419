"""The library's interface."""

from datetime import date
from typing import Annotated

from fastapi import Depends, FastAPI, Header, HTTPException, Query, Request
from fastapi.responses import JSONResponse

from library.schemas import BookView, LoanRequest, LoanView, NewBook, Page, show_book, show_loan
from library.store import Library, NotFound, Refused

app = FastAPI()
app.state.library = Library()
STAFF_KEY = "letmein"


def the_library(request: Request) -> Library:
    return request.app.state.library


def today(x_today: Annotated[str | None, Header()] = None) -> date:
    """Return the date of a request; tests set it."""
    return date.fromisoformat(x_today) if x_today else date.today()


def staff(x_key: Annotated[str | None, Header()] = None) -> None:
    if x_key is None:
        raise HTTPException(401, "a key is needed")
    if x_key != STAFF_KEY:
        raise HTTPException(403, "wrong key")


InLibrary = Annotated[Library, Depends(the_library)]
Today = Annotated[date, Depends(today)]


@app.exception_handler(NotFound)
def not_found(request: Request, error: NotFound) -> JSONResponse:
    return JSONResponse({"detail": str(error)}, status_code=404)


@app.exception_handler(Refused)
async def refused(request: Request, error: Refused) -> JSONResponse:
    return JSONResponse({"detail": str(error)}, status_code=409)


@app.post("/books", status_code=201, dependencies=[Depends(staff)])
def add_book(new: NewBook, library: InLibrary) -> BookView:
    book = library.add(new.title, new.author, new.year, new.copies, new.tags)
    return show_book(library, book)


@app.get("/books")
def list_books(
    library: InLibrary,
    text: str = "",
    tag: str | None = None,
    offset: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=1, le=100)] = 10,
) -> Page:
    found = library.search(text, tag)
    end = offset + limit
    items = [show_book(library, book) for book in found[offset:end]]
    return Page(total=len(found), items=items, next=end if end < len(found) else None)


@app.get("/books/{number}")
async def read_book(number: int, library: InLibrary) -> BookView:
    return show_book(library, library.book(number))


@app.delete("/books/{number}", status_code=204, dependencies=[Depends(staff)])
def remove_book(number: int, library: InLibrary) -> None:
    book = library.book(number)
    if library.available(number) != book.copies:
        raise Refused(f"{book.title} is lent")
    del library.books[number]


@app.post("/loans", status_code=201)
async def lend(wanted: LoanRequest, library: InLibrary, day: Today) -> LoanView:
    return show_loan(library.lend(wanted.book, wanted.reader.lower(), day))


@app.get("/readers/{reader}/loans")
def loans_of(reader: str, library: InLibrary) -> list[LoanView]:
    mine = [loan for loan in library.loans.values() if loan.reader == reader.lower()]
    return [show_loan(loan) for loan in sorted(mine, key=lambda loan: loan.due)]


@app.post("/loans/{number}/renew")
def renew(number: int, library: InLibrary, day: Today) -> LoanView:
    return show_loan(library.renew(number, day))


@app.delete("/loans/{number}")
async def give_back(number: int, library: InLibrary, day: Today) -> dict[str, int]:
    return {"fee": library.give_back(number, day)}
