"""An explorer that a program serves in a thread, as a notebook does."""

from __future__ import annotations

import subprocess
import sys

import httpx
import pytest

from webtable.errors import InvalidArgument
from webtable.explorer import explore


def opened(url: str) -> int:
    """Return the status of the page of a question, once *url* was opened."""
    with httpx.Client() as client:
        assert client.get(url).status_code == 200
        return client.get(httpx.URL(url).join("/q/pages?site=all")).status_code


def test_it_answers_until_it_is_stopped(sample):
    running = explore(sample)

    assert opened(running.url) == 200
    running.stop()
    running.stop()
    with pytest.raises(httpx.ConnectError):
        httpx.get(running.url)
    assert sample.pages("example.com", limit=1).first() is not None


def test_a_table_opens_its_own_explorer(sample):
    running = sample.explore()

    assert opened(running.url) == 200
    running.stop()


def test_a_notebook_shows_a_link_to_it(sample):
    running = explore(sample)
    running.stop()

    assert running._repr_html_().startswith(f'<a href="{running.url}" target="_blank" rel="noopener noreferrer">')


@pytest.mark.slow
def test_two_of_them_have_ports_of_their_own(sample):
    one, other = explore(sample), explore(sample)

    assert opened(one.url) == opened(other.url) == 200
    with pytest.raises(InvalidArgument, match="Address already in use"):
        explore(sample, port=httpx.URL(one.url).port)
    one.stop()
    other.stop()


@pytest.mark.slow
def test_a_program_ends_though_it_is_running():
    program = "import webtable, webtable.explorer as e; e.explore(webtable.open('memory:running', create=True))"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30)

    assert (done.returncode, done.stderr) == (0, "")
