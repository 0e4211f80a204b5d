"""Advice on the design of a row key, from measurements on real keys."""

from webtable.rowkey.advice.advice import Advice, advise
from webtable.rowkey.advice.costs import QuestionCost
from webtable.rowkey.advice.designs import (
    URL_VALUES,
    WEB_DESIGNS,
    Design,
    key_design,
    no_url_values,
    url_design,
    web_design,
)
from webtable.rowkey.advice.heat_map import heat_map, scale_of
from webtable.rowkey.advice.questions import Question
from webtable.rowkey.advice.ranking import CrawlScope, Judgement

__all__ = [
    "URL_VALUES",
    "WEB_DESIGNS",
    "Advice",
    "CrawlScope",
    "Design",
    "Judgement",
    "Question",
    "QuestionCost",
    "advise",
    "heat_map",
    "key_design",
    "no_url_values",
    "scale_of",
    "url_design",
    "web_design",
]
