"""Figures for the staff."""

import csv
import io

from shop import db

COLUMNS = {"number": 8, "total": 10, "status": 10, "created": 20}


def sales(first, last):
    """Orders between two days, both included."""
    with db.connect() as connection:
        return connection.execute(
            "select * from orders where date(created) >= ? and date(created) < ?", (first, last)
        ).fetchall()


def as_csv(rows):
    """The rows as CSV text."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([row[name] for name in COLUMNS])
    return out.getvalue()


def as_table(rows):
    """The rows as text in columns."""
    cells = []
    for name, width in COLUMNS.items():
        cells.append(lambda row: str(row[name])[:width].ljust(width))
    return "\n".join(" ".join(cell(row) for cell in cells) for row in rows)


def summary(rows):
    """Count, sum and mean."""
    amount = sum(row["total"] for row in rows)
    return {"count": len(rows), "sum": amount, "mean": amount / len(rows)}
