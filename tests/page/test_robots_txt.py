"""robots.txt is read as RFC 9309 says, and as protego reads it, whatever is in the file."""

from __future__ import annotations

import random
import tracemalloc

import pytest
from protego import Protego

from webtable.errors import InvalidArgument
from webtable.page.robots_txt import MOST_BYTES, RobotsRules, bot_name
from webtable.rowkey import canonical_url

# RFC 9309, section 5.1.
RFC = b"""
User-Agent: *
Disallow: *.gif$
Disallow: /example/
Allow: /publications/

User-Agent: foobot
Disallow:/
Allow:/example/page.html
Allow:/example/allowed.gif

User-Agent: barbot
User-Agent: bazbot
Disallow: /example/page.html

User-Agent: quxbot
"""


def allows(body, bot, path):
    rule = RobotsRules.of(body, bot).rule(f"https://example.com{path}")
    return rule is None or rule.is_allowed


@pytest.mark.parametrize(
    ("bot", "path", "is_allowed"),
    [
        ("anybot", "/logo.gif", False),
        ("anybot", "/logo.gif?v=2", True),
        ("anybot", "/example/x", False),
        ("anybot", "/publications/x", True),
        ("foobot", "/publications/x", False),
        ("foobot", "/example/page.html", True),
        ("bazbot", "/example/page.html", False),
        ("bazbot", "/example/other", True),
        ("quxbot", "/example/page.html", True),
        ("foobot", "/robots.txt", True),
    ],
)
def test_the_example_of_the_rfc(bot, path, is_allowed):
    assert allows(RFC, bot, path) is is_allowed


@pytest.mark.parametrize(
    ("rules", "path", "line"),
    [
        # RFC 9309, section 5.2: the longest match.
        (b"Allow: /example/page/\nDisallow: /example/page/disallowed.gif", "/example/page/disallowed.gif", "Disallow"),
        # Section 2.2.2: of two rules that are as long, the one that allows; escapes and case of escapes do not matter.
        (b"Disallow: /a\nAllow: /a", "/a", "Allow"),
        (b"Disallow: /%7euser/\xc3\xa4%e2", "/~user/%C3%A4%E2x", "Disallow"),
        # Section 2.2.3: special characters, and how they are meant as they are.
        (b"Disallow: /*/b$", "/a/x/b", "Disallow"),
        (b"Disallow: /*?sort=\nAllow: /x", "/x/y?sort=1", "Disallow"),
        (b"Disallow: /price%24", "/price$1", "Disallow"),
        (b"Disallow: /a%2A", "/a*b", "Disallow"),
        # Google: lines that are no rules do not end the names of a group, nor does what is misspelled.
        (b"Crawl-delay: 5\nUser-agent: b\nDissallow: /a", "/a", "Disallow"),
        (b"Disallow /a # all of it", "/a", "Disallow"),
    ],
)
def test_the_rule_that_decides_is_named(rules, path, line):
    rule = RobotsRules.of(b"\xef\xbb\xbfUser-agent: a\r\n" + rules, "a").rule(f"https://example.com{path}")

    assert rule is not None
    assert rule.line.partition(":")[0] == line


def test_a_bot_has_its_own_rules_then_those_of_its_family_then_those_of_all():
    body = b"User-agent: *\nDisallow: /all\nUser-agent: Googlebot/2.1\nDisallow: /google\nUser-agent: googlebot-news\n"

    assert [allows(body, "googlebot-image", path) for path in ("/all", "/google")] == [True, False]
    assert [allows(body, "googlebot-news", path) for path in ("/all", "/google")] == [True, True]
    assert [allows(body, "bot", path) for path in ("/all", "/google")] == [False, True]


@pytest.mark.parametrize("seed", range(200))
def test_it_decides_as_protego_does(seed):
    choose = random.Random(seed)
    pieces = ["/", "a", "b", "*", "=", "%41", "%c3%a4", "é", ".", "-"]
    lines = []
    for _ in range(choose.randint(0, 8)):
        lines += [f"User-agent: {choose.choice(['*', 'abot', 'bbot', 'abot-x'])}" for _ in range(choose.randint(1, 2))]
        for _ in range(choose.randint(1, 5)):
            path = "/" + "".join(choose.choices(pieces, k=choose.randint(0, 5))) + choose.choice(["", "", "$"])
            lines.append(f"{choose.choice(['Allow', 'Disallow'])}: {path}")
    text = "\n".join(lines)
    expected = Protego.parse(text)
    rules = RobotsRules.of(text.encode(), "abot")

    for _ in range(50):
        path = "/" + "".join(choose.choices([p for p in pieces if p not in "*é"], k=choose.randint(0, 8)))
        url = canonical_url(f"https://example.com{path}")
        rule = rules.rule(url)
        assert (rule is None or rule.is_allowed) == expected.can_fetch(url, "abot"), (text, url, rule)


def test_many_bots_above_many_rules_take_no_more_memory_than_their_file():
    half = MOST_BYTES // 2
    names = b"".join(b"User-agent: a%d\n" % number for number in range(half // 18))
    body = names + b"".join(b"Disallow: /%d*a*b\n" % number for number in range(half // 20))
    tracemalloc.start()

    rules = RobotsRules.of(body, "a7")

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60 * len(body)
    assert not rules.rule("https://example.com/9xaxb").is_allowed


def test_what_is_beyond_the_limit_is_not_read():
    body = b"User-agent: *\n" + b"#" * MOST_BYTES + b"\nDisallow: /"

    assert allows(body, "a", "/x")


@pytest.mark.parametrize("bot", ["", " ", "*", None, 3])
def test_what_is_no_name_of_a_bot_is_refused(bot):
    with pytest.raises(InvalidArgument, match="name of a bot"):
        bot_name(bot)
