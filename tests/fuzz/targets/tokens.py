"""Page tokens: any text is the token of a place in this very answer, or an `InvalidToken`."""

from __future__ import annotations

import functools
from contextlib import suppress

import msgspec
from hypothesis import strategies as st

from targets.sites import QUESTIONS, table
from targets.target import Strategy, Target, edited, edits
from webtable.errors import InvalidToken, WebTableError
from webtable.repository.answers.tokens import _fingerprint, _Position, _token


def check(data: bytes) -> None:
    """The first byte chooses the question, the second what follows: a text, edits of a token, or a place."""
    if len(data) < 2:
        return
    number, kind, rest = data[0] % len(QUESTIONS), data[1] % 3, data[2:]
    if kind == 2:
        _check_place(number, rest)
        return
    tokens = _tokens(number)
    text = rest if kind == 0 else edited(tokens[rest[0] % len(tokens)].encode() if rest and tokens else b"", rest[1:])
    token = text.decode("utf-8", "surrogateescape")
    try:
        answer = QUESTIONS[number](table(), token)
    except InvalidToken:
        assert token not in tokens
        return
    assert token in tokens, f"{token!r} is taken for a token of {answer.question}"
    assert [_told(one) for one in answer] == _whole(number)[tokens.index(token) + 1 :]


def _check_place(number: int, place: bytes) -> None:
    """A token with a checksum that fits, but of a place that nobody gave out, is refused or answered somehow."""
    whole = QUESTIONS[number](table(), None)
    token = _token(_Position(_fingerprint(whole.question, whole.order), place))
    with suppress(WebTableError):
        list(QUESTIONS[number](table(), token))


def _told(result: object) -> bytes:
    return msgspec.json.encode(result, enc_hook=repr)


@functools.cache
def _whole(number: int) -> list[bytes]:
    return [_told(one) for one in QUESTIONS[number](table(), None)]


@functools.cache
def _tokens(number: int) -> list[str]:
    answer = QUESTIONS[number](table(), None)
    return [answer.token_after(one) for one in answer]


def seeds() -> list[bytes]:
    """Return for each question a token, one that is edited, and a place."""
    found = []
    for number in range(len(QUESTIONS)):
        for token in _tokens(number)[:2]:
            place = _position(token)
            found += [
                bytes([number, 0]) + token.encode(),
                bytes([number, 1, 0, 9, 9, 1, 1]),
                bytes([number, 2]) + place,
            ]
    return found


def _position(token: str) -> bytes:
    from webtable.repository.answers.tokens import _position as position

    found = position(token)
    assert found is not None
    return found.place


def inputs() -> Strategy:
    """Return tokens and places that were edited, tokens of other questions, and any text."""
    number = st.integers(0, len(QUESTIONS) - 1)
    mutation = st.tuples(number, st.just(1), st.integers(0, 9)).map(bytes)
    tokens = [token for question in range(len(QUESTIONS)) for token in _tokens(question)]
    text = st.sampled_from(tokens).map(str.encode) | st.binary(max_size=40)
    places = st.sampled_from([_position(token) for token in tokens])
    return st.one_of(
        st.tuples(mutation, edits(2)).map(b"".join),
        st.tuples(number.map(lambda one: bytes([one, 0])), text).map(b"".join),
        st.tuples(number.map(lambda one: bytes([one, 2])), st.builds(edited, places, edits())).map(b"".join),
    )


TOKENS = Target("tokens", check, inputs, seeds, longest=512)
