"""Docstrings of public names tell of parameters, of units, and of the errors that are raised."""

from __future__ import annotations

import ast
import inspect
import itertools
import re
import textwrap
from operator import attrgetter

import pytest

import webtable
import webtable.demo
import webtable.formats
import webtable.reports
import webtable.rowkey
import webtable.schema
import webtable.store
import webtable.testing
from listing_examples import arguments_of
from webtable.errors import InvalidArgument, InvalidToken, InvalidURL, UnknownColumn, WebTableError
from webtable.questions import LISTINGS
from webtable.repository.table.groups import TableLinks

API = [webtable, webtable.answers, webtable.maintenance, webtable.indexes, webtable.records, webtable.writing]
API += [webtable.progress, webtable.formats, webtable.reports]
MODULES = [*API, webtable.rowkey, webtable.schema, webtable.store, webtable.testing, webtable.demo]
ERRORS = {
    name: value
    for name, value in vars(webtable.errors).items()
    if isinstance(value, type) and issubclass(value, WebTableError)
}
AMOUNT = re.compile(r"_(bytes|seconds|age|size)$|^(timeout|deadline|settle|ttl|size|limit|in_flight)$|^(max|min)_")
UNIT = re.compile(
    r"\b(bytes|seconds|milliseconds|days|characters|digits|pages|rows|cells|connections|batches|versions|answers|results"
    r"|numbers|hits|buckets|redirects|segments|parameters|times)\b"
)


def functions(modules, *, also=()):
    """Yield the functions and methods that callers call, *also* constructors, each with its name and what it says."""
    for module in modules:
        for name in module.__all__:
            one = getattr(module, name)
            members = vars(one).items() if inspect.isclass(one) else [(name, one)]
            about = about_class(one) if inspect.isclass(one) else ""
            for member, found in members:
                function = inspect.unwrap(getattr(found, "__func__", found)) if callable(found) else found
                if inspect.isfunction(function) and (member in also or not member.startswith("_")):
                    yield f"{name}.{member}", function, f"{inspect.getdoc(function)} {about}"


def about_class(one):
    """Return the docstring of a class, and what stands below each of its fields."""
    said = [inspect.getdoc(one) or ""]
    (made,) = ast.parse(textwrap.dedent(inspect.getsource(one))).body
    for field, below in itertools.pairwise(made.body):
        if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
            said.append(f"{field.target.id}: {below.value.value}")
    return " \n".join(said)


def parameters(function):
    return [one for one in inspect.signature(function).parameters.values() if one.name not in ("self", "cls")]


def test_docstrings_tell_of_every_parameter():
    untold = {
        name: parameter.name
        for name, function, said in functions(API)
        for parameter in parameters(function)
        if parameter.name.strip("_") and not re.search(rf"\b{parameter.name}\b", said)
    }

    assert untold == {}


@pytest.mark.slow
def test_docstrings_tell_the_unit_of_every_amount():
    amounts = [
        (name, parameter.name, said)
        for name, function, said in functions(MODULES, also=["__init__"])
        for parameter in parameters(function)
        if not name.startswith("Hosts.")  # questions make it, as all `Results`
        and AMOUNT.search(parameter.name)
        and re.search(r"\b(int|float)\b", str(parameter.annotation))
    ]

    untold = [(name, parameter) for name, parameter, said in amounts if not tells_the_unit(said, parameter)]
    assert untold == []
    assert len(amounts) > 40


def tells_the_unit(said, parameter):
    """Whether a sentence that has the *parameter* has a unit too; the name of the parameter is none."""
    sentences = re.split(r"(?<=[.;])\s", said)
    about = [re.sub(rf"\b{parameter}\b", "", one) for one in sentences if re.search(rf"\b{parameter}\b", one)]
    return any(UNIT.search(one) for one in about)


def raised(function):
    """Return the errors of webtable that *function* itself raises, by name."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except OSError:  # made by dataclasses
        return set()
    thrown = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise) and node.exc is not None]
    names = {one.func if isinstance(one, ast.Call) else one for one in thrown}
    return {one.id for one in names if isinstance(one, ast.Name)} & ERRORS.keys()


@pytest.mark.slow
def test_docstrings_tell_the_errors_that_a_function_raises_itself():
    callers = functions(MODULES, also=["__init__", "__post_init__"])
    throwing = [(name, error, said) for name, one, said in callers for error in raised(one)]

    untold = [(name, error) for name, error, said in throwing if not tells_the_error(said, error)]
    assert untold == []
    assert len(throwing) > 30


def tells_the_error(said, error):
    """Whether *said* has the name of the error, or of one that it is a kind of."""
    kinds = {one.__name__ for one in ERRORS[error].__mro__} & ERRORS.keys() - {"WebTableError"}
    return any(re.search(rf"\b{kind}\b", said) for kind in kinds)


WRONG = {
    "site": ("no host", InvalidURL),
    "url": ("no url", InvalidURL),
    "after": ("no token", InvalidToken),
    "columns": (["no column"], UnknownColumn),
    "limit": (-1, InvalidArgument),
}
"""What a question of `WebTable` is given by a name, and raises then, as the docstring of the class says."""
QUESTIONS = [
    (f"{of}{name}", parameter)
    for of, group in (("", webtable.WebTable), ("links.", TableLinks))
    for name, method in inspect.getmembers(group, inspect.isfunction)
    if inspect.signature(method).return_annotation in ("Pages", "Hosts")
    or str(inspect.signature(method).return_annotation).startswith("Results")
    for parameter in inspect.signature(method).parameters
    if parameter in WRONG
]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    with webtable.open(tmp_path_factory.mktemp("docstrings") / "crawl.db", create=True) as opened:
        yield opened


@pytest.mark.parametrize(("name", "parameter"), QUESTIONS, ids=[f"{name}-{one}" for name, one in QUESTIONS])
def test_a_question_raises_what_the_docstring_of_its_class_says(table, name, parameter):
    value, error = WRONG[parameter]
    method = attrgetter(name)(table)
    needed = arguments_of(next(listing for listing in LISTINGS.values() if listing.method == name))

    with pytest.raises(error):
        list(method(**{**needed, parameter: value}))

    assert f"`{error.__name__}`" in inspect.getdoc(webtable.WebTable)


def test_the_questions_are_found():
    assert len(QUESTIONS) > 40
