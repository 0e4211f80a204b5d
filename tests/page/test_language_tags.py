"""Values of hreflang that search engines understand, and those that they do not."""

from __future__ import annotations

import pytest

from webtable.page.language_tags import tag_problem


@pytest.mark.parametrize(
    "tag", ["de", "DE", " de-AT ", "en-gb", "zh-Hans", "zh-Hant-TW", "x-default", "X-Default", "sr-Latn-RS", "be"]
)
def test_a_language_may_have_a_script_and_a_region(tag):
    assert tag_problem(tag) is None


@pytest.mark.parametrize(
    ("tag", "problem"),
    [
        ("en-UK", "uk is no region of ISO 3166-1 (gb is the United Kingdom)"),
        ("en-EU", "eu is no region of ISO 3166-1"),
        ("es-419", "419 is no region of ISO 3166-1"),
        ("jp", "jp is no language of ISO 639-1"),
        ("us", "us is no language of ISO 639-1"),
        ("eng", "eng is no language of ISO 639-1"),
        ("en_GB", "en_gb is no language of ISO 639-1"),
        ("", "nothing is no language of ISO 639-1"),
        ("x", "x is no language of ISO 639-1"),
        ("zh-Chin", "chin is no script of ISO 15924"),
        ("zh-TW-Hant", "hant after the region"),
        ("de-", "nothing is no region of ISO 3166-1"),
        ("de-de-1996", "1996 after the region"),
    ],
)
def test_other_values_are_explained(tag, problem):
    assert tag_problem(tag) == problem
