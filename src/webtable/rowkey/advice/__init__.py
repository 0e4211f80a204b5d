"""Advice on a row key before it is cast in stone: designs measured on real keys."""

from webtable.rowkey.advice.advice import Advice, advise
from webtable.rowkey.advice.design import WEB_DESIGNS, Design, key_design, web_design
from webtable.rowkey.advice.heat import scale_of
from webtable.rowkey.advice.judgement import Judgement
from webtable.rowkey.advice.measures import QuestionCost
from webtable.rowkey.advice.picture import heat_map

__all__ = [
    "WEB_DESIGNS",
    "Advice",
    "Design",
    "Judgement",
    "QuestionCost",
    "advise",
    "heat_map",
    "key_design",
    "scale_of",
    "web_design",
]
