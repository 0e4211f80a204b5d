"""Tables and column families as frozen values, the web table's own, and plans to bring a table to its schema."""

from webtable.schema.layout import (
    LAYOUT_COLUMN,
    LAYOUT_ROW,
    KeyLayout,
    Layout,
    check_layout,
    check_suffix_list,
    meta_table,
)
from webtable.schema.plan import FamilyChange, Plan, plan
from webtable.schema.shell import SplitsForm, alter_statement, create_statement, splits_text
from webtable.schema.table import FAMILY_OPTIONS, BlockEncoding, Bloom, Compression, FamilySchema, TableSchema
from webtable.schema.web import DEFAULT_TTL, ColumnNames, PlainColumn, WebColumns, web_columns, web_table_schema

__all__ = [
    "DEFAULT_TTL",
    "FAMILY_OPTIONS",
    "LAYOUT_COLUMN",
    "LAYOUT_ROW",
    "BlockEncoding",
    "Bloom",
    "ColumnNames",
    "Compression",
    "FamilyChange",
    "FamilySchema",
    "KeyLayout",
    "Layout",
    "PlainColumn",
    "Plan",
    "SplitsForm",
    "TableSchema",
    "WebColumns",
    "alter_statement",
    "check_layout",
    "check_suffix_list",
    "create_statement",
    "meta_table",
    "plan",
    "splits_text",
    "web_columns",
    "web_table_schema",
]
