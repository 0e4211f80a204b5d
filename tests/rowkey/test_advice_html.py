"""Advice in a notebook, and as pictures: well-formed, complete, harmless and always the same."""

from __future__ import annotations

import random
import re
from itertools import pairwise
from xml.etree import ElementTree

import msgspec
import pytest

from markup_tags import Tags
from webtable.rowkey import CompositeKey, HashedKey, Text, UInt
from webtable.rowkey.advice import Advice, Judgement, advise, heat_map, scale_of
from webtable.rowkey.advice.heat_map import ON_DARK, ON_LIGHT, start_text

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>alert('1')</script>&\"\x00\u202e"


def crawl(pages: int = 3_000) -> list[str]:
    """Return URLs of 50 hosts, 30 pages of one behind the other."""
    draw = random.Random(5)
    hosts = [f"www.site{draw.randrange(50)}.example" for _ in range(pages // 30)]
    return [f"https://{host}/{number}" for host in hosts for number in range(30)]


@pytest.fixture(scope="module")
def advice() -> Advice:
    return advise([*crawl(), "nonsense"])


@pytest.fixture(scope="module")
def hostile(advice: Advice) -> Advice:
    design = advice["host"]
    writes = msgspec.structs.replace(design.writes, splits=(HOSTILE.encode(), *design.writes.splits[1:]))
    question = msgspec.structs.replace(design.questions[0], question=HOSTILE)
    no_answer = msgspec.structs.replace(advice["hash"].questions[1], reason=HOSTILE)
    bad = msgspec.structs.replace(
        design, name=HOSTILE, declaration=HOSTILE, why=(HOSTILE,), writes=writes, questions=(question, no_answer)
    )
    return msgspec.structs.replace(advice, designs=(bad,), column=HOSTILE, first_skipped=HOSTILE)


def test_a_notebook_shows_the_ranking_what_it_holds_for_and_the_writes_of_the_best(advice):
    tags = Tags(advice._repr_html_())

    for design in advice.designs:
        assert design.name in tags.text
        assert design.verdict in tags.text
    assert all(said[1:] in tags.text for said in advice.said_of_all)
    assert heat_map(advice.best, keys=advice.keys) in advice._repr_html_()


def cells(drawing: str) -> dict[int, list[tuple[int, ...]]]:
    """Return the cells of a picture by the step of their colour: x, y and width."""
    found = {}
    for element in ElementTree.fromstring(drawing).find(f"{SVG}g[@shape-rendering]"):
        step = int(element.get("class").removeprefix("wt-h"))
        found[step] = [tuple(map(int, numbers)) for numbers in re.findall(r"M(\d+) (\d+)h(\d+)", element.get("d"))]
    return found


def all_in_order(count: int = 2_000) -> Judgement:
    """Return a design whose writes all go to one region at a time, the last of four in the end."""
    rows = [{"id": number} for number in range(count)]
    return advise(rows, {"ordered": CompositeKey(UInt("id"))}, regions=4, window=count // 4).best


@pytest.mark.parametrize("made", [Advice._repr_html_, lambda advice: heat_map(advice.best)])
def test_nothing_is_loaded_from_anywhere(advice, made):
    markup = made(advice)

    assert set(re.findall(r"https?://\w[^\s\"'<]*", markup)) <= {"http://www.w3.org/2000/svg"}
    tags = Tags(markup)
    assert not {"script", "link", "img", "iframe", "object"} & set(tags.names)
    assert not {"src", "srcset"} & {name for name, _ in tags.attributes}
    assert "href" not in {name for name, _ in tags.attributes}
    assert not re.search(r"url\((?!\))", markup)  # Salt.url() is a fix, and no address
    assert "@import" not in markup


@pytest.mark.parametrize("made", [Advice._repr_html_, lambda advice: heat_map(advice.best)])
def test_what_comes_from_the_user_is_escaped(hostile, made):
    markup = made(hostile)

    tags = Tags(markup)
    assert "script" not in tags.names
    assert not [name for name, _ in tags.attributes if name.startswith("on")]
    assert "&lt;script&gt;" in markup
    assert "\x00" not in markup
    assert "\u202e" not in markup


def test_a_picture_of_hostile_keys_is_xml(hostile):
    root = ElementTree.fromstring(heat_map(hostile.best))

    assert any(text.text.startswith("<script>alert(") for text in root.iter(f"{SVG}text"))


@pytest.mark.parametrize("made", [Advice._repr_html_, lambda advice: heat_map(advice.best)])
def test_the_same_advice_gives_the_same_bytes(advice, made):
    copy = msgspec.json.decode(msgspec.json.encode(advice), type=Advice)

    assert made(advice) == made(copy)


def test_keys_in_order_heat_one_region_at_a_time():
    found = cells(heat_map(all_in_order()))

    (hot,) = [found[step] for step in found if step == len(ON_LIGHT) - 1]
    assert [width for _, _, width in hot] == [128] * 4
    assert [x for x, _, _ in hot] == sorted(x for x, _, _ in hot)
    assert len({y for _, y, _ in hot}) == 4
    assert set(found) == {0, len(ON_LIGHT) - 1}


def test_an_even_design_is_pale_and_one_scale_makes_pictures_comparable():
    hashed = advise([{"id": n} for n in range(3_000)], {"hash": HashedKey(CompositeKey(UInt("id")))}).best

    alone = max(cells(heat_map(hashed)))
    assert alone < len(ON_LIGHT) / 3
    assert max(cells(heat_map(hashed, scale=scale_of([hashed])))) > alone
    assert max(cells(heat_map(hashed, scale=scale_of([hashed, all_in_order()])))) == alone


def test_a_last_window_of_few_keys_does_not_look_hot():
    rows = [{"name": name} for name in "abcdefghijklmnop" * 100 + "z"]

    scale = scale_of([advise(rows, {"name": CompositeKey(Text("name"))}, regions=16, window=800).best])

    assert scale.at_once == 0.2


def test_designs_that_are_all_even_are_all_pale():
    rows = [{"id": n} for n in range(30_000)]
    designs = advise(rows, {"hash": HashedKey(CompositeKey(UInt("id")))}, window=6_000).designs

    steps = cells(heat_map(designs[0], scale=scale_of(designs)))

    assert max(steps) < len(ON_LIGHT) * 2 / 3


def test_a_region_is_named_by_its_first_key_and_tells_its_share():
    root = ElementTree.fromstring(heat_map(all_in_order(400)))

    texts = [text.text for text in root.iter(f"{SVG}text")]
    titles = [title.text for title in root.iter(f"{SVG}title")]
    assert {"(beginning)", "rows in the end", "writes over time", "key 400", "100%"} <= set(texts)
    assert root.get("role") == "img"
    assert root.get("aria-label") == titles[0]


def test_a_sample_is_shown_over_all_keys():
    advice = advise(crawl(), ["url"], most=1_000)

    assert "key 3,000<" in heat_map(advice.best, keys=advice.keys)


def test_a_picture_stays_small_and_readable_however_many_regions_and_windows_there_are():
    rows = [{"id": draw} for draw in random.Random(3).sample(range(10**6), 20_000)]

    usual = heat_map(advise(rows, {"id": CompositeKey(UInt("id"))}).best)
    large = heat_map(advise(rows, {"id": CompositeKey(UInt("id"))}, regions=1_000, window=20).best)

    assert len(usual) < 60_000
    assert len(large) < 500_000
    assert "a row is the hottest of 8 regions" in large
    labels = ElementTree.fromstring(large).findall(f"{SVG}g[@text-anchor='end']/{SVG}text")
    places = [int(label.get("y")) for label in labels]
    assert min(later - earlier for earlier, later in pairwise(places)) >= 12


def test_one_key_in_one_region_is_a_picture_too():
    assert cells(heat_map(advise(["https://example.com/"], ["none"], regions=1).best)).keys() == {len(ON_LIGHT) - 1}


def test_a_picture_has_its_own_colours_for_the_dark_and_a_background(advice):
    made = heat_map(advice.best)

    assert "prefers-color-scheme:dark" in made
    assert ON_LIGHT[0] in made
    assert ON_DARK[-1] in made
    assert ElementTree.fromstring(made).find(f"{SVG}rect").get("class") == "wt-panel"


@pytest.mark.parametrize("colors", [ON_LIGHT, ON_DARK])
def test_colours_differ_in_lightness_alone(colors):
    def luminance(color: str) -> float:
        linear = ((part / 255 + 0.055) ** 2.4 / 1.055**2.4 for part in bytes.fromhex(color[1:]))
        return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    lights = [luminance(color) for color in colors]

    assert lights == sorted(lights, reverse=colors is ON_LIGHT)


@pytest.mark.parametrize(("key", "text"), [(b"", "(beginning)"), (b" ", r"\x20"), (b"5a:\xff", r"5a:\xFF")])
def test_the_first_key_of_a_region_is_visible(key, text):
    assert start_text(key) == text


def test_of_long_keys_the_part_is_shown_in_which_they_differ_and_no_escape_is_cut():
    rows = [{"id": 1364248490 + n} for n in range(1_000)]
    urls = [f"https://www.{word * 9}.example/{n}" for word in "abc" for n in range(90)]

    numbers = advise(rows, {"id": CompositeKey(UInt("id"))}, regions=3).best
    hosts = advise(urls, ["none"], regions=3).best

    assert labels_of(numbers) == ["(beginning)", r"…\xC8\xF7", r"…\xCAD"]
    assert all(len(label) <= 22 for label in labels_of(hosts))


def labels_of(judgement: Judgement) -> list[str]:
    group = ElementTree.fromstring(heat_map(judgement)).find(f"{SVG}g[@text-anchor='end']")
    return [label.text for label in group]
