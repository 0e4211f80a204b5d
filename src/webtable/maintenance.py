"""Options and reports of creating, altering, verifying, copying, deleting, counting and diagnosing tables."""

from webtable.repository.arguments import Progress
from webtable.repository.context import CopyTarget
from webtable.repository.copying.check import CopyCheck
from webtable.repository.copying.counts import Copied
from webtable.repository.diagnosis.doctor import Diagnosis, checks
from webtable.repository.full_text.upkeep import TextRefresh
from webtable.repository.maintenance.alter import AlterOptions
from webtable.repository.maintenance.create import LayoutOptions
from webtable.repository.maintenance.regions import RegionComparison, regions_of, sample_urls
from webtable.repository.questions.holdings import Holdings, holdings
from webtable.repository.questions.verification import MissingPages, Verification
from webtable.repository.removing.retention import DeletedPage, Deletions
from webtable.repository.table.opening import copy_target
from webtable.repository.table.running import RunningExplorer
from webtable.repository.upkeep.recounts import Recount
from webtable.schema import LayoutPlan, Plan
from webtable.store.health import Check

__all__ = [
    "AlterOptions",
    "Check",
    "Copied",
    "CopyCheck",
    "CopyTarget",
    "DeletedPage",
    "Deletions",
    "Diagnosis",
    "Holdings",
    "LayoutOptions",
    "LayoutPlan",
    "MissingPages",
    "Plan",
    "Progress",
    "Recount",
    "RegionComparison",
    "RunningExplorer",
    "TextRefresh",
    "Verification",
    "checks",
    "copy_target",
    "holdings",
    "regions_of",
    "sample_urls",
]
