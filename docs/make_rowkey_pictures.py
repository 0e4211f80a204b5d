"""Draws the pictures of docs/rowkeys.md by the advisor: `python docs/make_rowkey_pictures.py`."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webtable.rowkey.advice import advise, heat_map
from webtable.rowkey.examples import (
    HASHED_KEY,
    LATEST_KEY,
    LONG_KEY,
    MESSAGE_KEY,
    METRIC_KEY,
    REVERSED_KEY,
    SALTED_TIME_KEY,
    SPREAD_LOG_KEY,
    TAIL_SALTED_KEY,
    USER_APP_KEY,
)

if TYPE_CHECKING:
    from webtable.rowkey import RowKey

FOLDER = Path(__file__).with_name("pictures")
ROWS = 12_000
START = datetime(2026, 1, 1, tzinfo=UTC)


def pictures() -> dict[str, str]:
    """Return the pictures as they should be: the name of each file, and its SVG."""
    random.seed(1)  # random salts draw from it, and the same pictures are to come each time
    crawled = advise(crawl(), ["host", "url", "none"])
    made = {f"web-{design.name}": heat_map(design) for design in crawled.designs}
    for name, (key, rows) in PATTERNS.items():
        made[name] = heat_map(advise(rows, {name: key}).best)
    return {f"rowkey-{name}.svg": picture for name, picture in made.items()}


def crawl() -> list[str]:
    """Return the URLs of a crawl of 400 sites, some hundred pages of one behind the other, a third of one giant."""
    draw = random.Random(1)  # noqa: S311 - it keeps no secret
    urls: list[str] = []
    while len(urls) < ROWS:
        giant = draw.random() < 1 / 3
        host = "www.giant.example" if giant else f"www.site{draw.randrange(400)}.example"
        urls += (f"https://{host}/{draw.choice('abc')}/{len(urls) + number}" for number in range(40))
    return urls


def _rows(make: Any) -> list[dict[str, Any]]:
    return [make(number, START + timedelta(seconds=30 * number)) for number in range(ROWS)]


PATTERNS: dict[str, tuple[RowKey, list[dict[str, Any]]]] = {
    "message": (MESSAGE_KEY, _rows(lambda n, time: {"message_id": str(1231231 + n), "sent": time})),
    "metric": (METRIC_KEY, _rows(lambda n, time: {"metric": n % 200, "hour": time, "tags": bytes(6)})),
    "user-app": (USER_APP_KEY, _rows(lambda n, _: {"user_id": n // 4, "app_id": n % 4})),
    "salted-time": (SALTED_TIME_KEY, _rows(lambda n, time: {"time": time, "id": str(n)})),
    "random-salt": (SPREAD_LOG_KEY, _rows(lambda n, time: {"time": time, "id": str(n)})),
    "latest": (LATEST_KEY, _rows(lambda n, time: {"key": f"sensor {n * 7919 % 300:03}", "time": time})),
    "long": (LONG_KEY, _rows(lambda n, _: {"id": 1364248490 + n})),
    "tail-salt": (TAIL_SALTED_KEY, _rows(lambda n, _: {"id": str(1364248490 + n)})),
    "reversed": (REVERSED_KEY, _rows(lambda n, _: {"id": 1364248490 + n})),
    "hashed": (HASHED_KEY, _rows(lambda n, _: {"url": f"https://example.com/{n}"})),
}
"""Each pattern, and rows as they might be written, one every 30 seconds."""


def main() -> None:
    """Write the pictures."""
    FOLDER.mkdir(exist_ok=True)
    for name, picture in pictures().items():
        (FOLDER / name).write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
