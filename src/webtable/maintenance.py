"""Options and reports of creating, altering, verifying, copying, deleting, counting and diagnosing tables."""

from webtable.repository.adoption import Adopted, adopt
from webtable.repository.arguments import Progress
from webtable.repository.copying import Copied, CopyCheck
from webtable.repository.full_text.upkeep import TextRefresh
from webtable.repository.maintenance.create import AlterOptions, LayoutOptions
from webtable.repository.maintenance.delete import DeletedPage, Deletions
from webtable.repository.maintenance.doctor import Diagnosis, checks
from webtable.repository.maintenance.summary import (
    RegionComparison,
    TableSummary,
    regions_of,
    sample_urls,
    table_summary,
)
from webtable.repository.maintenance.verify import MissingPages, Verification
from webtable.repository.table.groups import CopyTarget
from webtable.repository.table.opening import copy_target
from webtable.repository.table.web_table import RunningExplorer
from webtable.repository.upkeep.recounts import Recount
from webtable.schema import LayoutPlan, Plan
from webtable.store.health import Check

__all__ = [
    "Adopted",
    "AlterOptions",
    "Check",
    "Copied",
    "CopyCheck",
    "CopyTarget",
    "DeletedPage",
    "Deletions",
    "Diagnosis",
    "LayoutOptions",
    "LayoutPlan",
    "MissingPages",
    "Plan",
    "Progress",
    "Recount",
    "RegionComparison",
    "RunningExplorer",
    "TableSummary",
    "TextRefresh",
    "Verification",
    "adopt",
    "checks",
    "copy_target",
    "regions_of",
    "sample_urls",
    "table_summary",
]
