"""The targets of the fuzz tests by their names."""

from targets.arc import ARC
from targets.cells import CELLS
from targets.har import HAR
from targets.html import HTML
from targets.jsonl import JSONL
from targets.keys import KEYS
from targets.rpc import RPC
from targets.tables import TABLES
from targets.target import Target
from targets.texts import TEXTS
from targets.tokens import TOKENS
from targets.urls import URLS
from targets.warc import WARC

TARGETS: dict[str, Target] = {
    target.name: target for target in (URLS, KEYS, TOKENS, CELLS, RPC, TABLES, WARC, ARC, HAR, JSONL, HTML, TEXTS)
}
