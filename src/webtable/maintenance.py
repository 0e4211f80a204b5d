"""Options and reports of creating, altering, verifying, copying, deleting, counting and diagnosing tables."""

from typing import TYPE_CHECKING

from webtable._late import late

if TYPE_CHECKING:
    from webtable.repository.arguments import Progress
    from webtable.repository.copying.check import CopyCheck
    from webtable.repository.copying.counts import Copied
    from webtable.repository.creation.alteration import AlterOptions
    from webtable.repository.creation.web import LayoutOptions
    from webtable.repository.derived.refresh import Recount
    from webtable.repository.diagnosis.doctor import Diagnosis, checks
    from webtable.repository.frame import CopyTarget
    from webtable.repository.full_text.upkeep import TextRefresh
    from webtable.repository.opening import copy_target
    from webtable.repository.questions.holdings import Holdings, holdings
    from webtable.repository.questions.verification import MissingPages, Verification
    from webtable.repository.regions import RegionComparison, regions_of, sample_urls
    from webtable.repository.removing.retention import DeletedPage, Deletions
    from webtable.repository.table.running import RunningExplorer
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

if not TYPE_CHECKING:  # a type checker would assume that every name exists
    __getattr__, __dir__ = late(
        __name__,
        {
            "webtable.repository.arguments": ("Progress",),
            "webtable.repository.copying.check": ("CopyCheck",),
            "webtable.repository.copying.counts": ("Copied",),
            "webtable.repository.creation.alteration": ("AlterOptions",),
            "webtable.repository.creation.web": ("LayoutOptions",),
            "webtable.repository.derived.refresh": ("Recount",),
            "webtable.repository.diagnosis.doctor": ("Diagnosis", "checks"),
            "webtable.repository.frame": ("CopyTarget",),
            "webtable.repository.full_text.upkeep": ("TextRefresh",),
            "webtable.repository.opening": ("copy_target",),
            "webtable.repository.questions.holdings": ("Holdings", "holdings"),
            "webtable.repository.questions.verification": ("MissingPages", "Verification"),
            "webtable.repository.regions": ("RegionComparison", "regions_of", "sample_urls"),
            "webtable.repository.removing.retention": ("DeletedPage", "Deletions"),
            "webtable.repository.table.running": ("RunningExplorer",),
            "webtable.schema": ("LayoutPlan", "Plan"),
            "webtable.store.health": ("Check",),
        },
    )
