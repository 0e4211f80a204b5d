"""Credentials: where they come from, whom they are sent to, and that nothing ever shows them."""

from __future__ import annotations

import base64
import contextlib
import io
import logging
import os
import pickle
import subprocess
import sys
import traceback
import warnings
from pathlib import Path

import pytest
from gateways import HOST, RowsThrift1, RowsThrift2
from http_gateways import HTTPGateway, fixed, status

import webtable
from webtable.cli.options import beside
from webtable.cli.session import CommandSession
from webtable.errors import InvalidArgument, StoreRefused, WebTableError
from webtable.store import StoreURL, adapter_of, open_store, table_of
from webtable.store.hbase import HBaseStore, HTTPMode
from webtable.store.hbase.thrift.store import address_of

ROWS = [b"%05d" % number for number in range(30)]
SECRET = "s3cr3t-of-the-gateway"


@pytest.fixture(autouse=True)
def no_credentials_of_this_machine(monkeypatch, tmp_path):
    for name in [name for name in os.environ if name.startswith("WEBTABLE_HBASE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("NETRC", raising=False)


@pytest.fixture
def pair(servers) -> tuple[HTTPGateway, HTTPGateway]:
    pair = HTTPGateway(RowsThrift1(pages=ROWS)), HTTPGateway(RowsThrift2(pages=ROWS))
    servers.extend(pair)
    return pair


def url_of(pair, auth: str = "", login: str = "") -> str:
    options = f"thrift2={pair[1].port}&timeout=2" + (f"&auth={auth}" if auth else "")
    return f"hbase+http://{login}{HOST}:{pair[0].port}/pages?{options}"


def sent(pair) -> set[str | None]:
    return {head.get("Authorization") for gateway in pair for head in gateway.heads}


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def netrc(path: Path, host: str = HOST) -> None:
    path.write_text(f"machine {host} login crawler password {SECRET}\n")
    path.chmod(0o600)


# --- where they come from --------------------------------------------------------------------------------------------


def test_without_auth_no_credentials_are_sent(pair, monkeypatch, tmp_path):
    netrc(tmp_path / ".netrc")
    monkeypatch.setenv("WEBTABLE_HBASE_TOKEN", SECRET)
    monkeypatch.setenv("WEBTABLE_HBASE_AUTH_HOSTS", "*")

    open_store(url_of(pair))[0].close()

    assert sent(pair) == {None}


@pytest.mark.parametrize("by_variable", [True, False])
@pytest.mark.parametrize(("auth", "header"), [("basic", basic("crawler", SECRET)), ("bearer", f"Bearer {SECRET}")])
def test_credentials_come_from_netrc(pair, monkeypatch, tmp_path, by_variable, auth, header):
    netrc(tmp_path / ("other" if by_variable else ".netrc"))
    if by_variable:
        monkeypatch.setenv("NETRC", str(tmp_path / "other"))

    open_store(url_of(pair, auth))[0].close()

    assert sent(pair) == {header}


@pytest.mark.parametrize("in_file", [True, False])
@pytest.mark.parametrize(("auth", "header"), [("basic", basic("crawler", SECRET)), ("bearer", f"Bearer {SECRET}")])
def test_credentials_come_from_the_environment_or_a_file_that_it_names(
    pair, monkeypatch, tmp_path, in_file, auth, header
):
    variable = "WEBTABLE_HBASE_PASSWORD" if auth == "basic" else "WEBTABLE_HBASE_TOKEN"
    (tmp_path / "secret").write_text(f"{SECRET}\n")
    monkeypatch.setenv("WEBTABLE_HBASE_USER", "crawler")
    monkeypatch.setenv(variable + "_FILE" * in_file, str(tmp_path / "secret") if in_file else SECRET)
    monkeypatch.setenv("WEBTABLE_HBASE_AUTH_HOSTS", f"elsewhere.example, {HOST}")

    open_store(url_of(pair, auth))[0].close()

    assert sent(pair) == {header}


def test_a_token_that_is_renewed_in_its_file_is_sent_anew(pair, monkeypatch, tmp_path):
    token = tmp_path / "token"
    token.write_text("first")
    monkeypatch.setenv("WEBTABLE_HBASE_TOKEN_FILE", str(token))
    monkeypatch.setenv("WEBTABLE_HBASE_AUTH_HOSTS", HOST)
    with open_store(url_of(pair, "bearer"))[0] as store:
        token.write_text("second")
        store.read("pages", ROWS[:1])

    assert sent(pair) == {"Bearer first", "Bearer second"}


def test_a_token_whose_file_is_gone_is_an_error_that_names_it(pair, monkeypatch, tmp_path):
    token = tmp_path / "token"
    token.write_text(SECRET)
    monkeypatch.setenv("WEBTABLE_HBASE_TOKEN_FILE", str(token))
    monkeypatch.setenv("WEBTABLE_HBASE_AUTH_HOSTS", HOST)
    with open_store(url_of(pair, "bearer"))[0] as store:
        token.unlink()

        with pytest.raises(StoreRefused, match=r"WEBTABLE_HBASE_TOKEN_FILE='.*token': it cannot be read"):
            store.read("pages", ROWS[:1])


def test_a_password_in_the_url_is_sent_and_warned_of(pair):
    with pytest.warns(UserWarning, match="has a password in it") as told:
        open_store(url_of(pair, login="crawler:p%40ss%2Fword@"))[0].close()

    assert sent(pair) == {basic("crawler", "p@ss/word")}
    assert "p%40ss" not in "".join(str(one.message) for one in told)


def test_a_url_to_be_typed_finds_in_netrc_what_it_had_itself(pair, tmp_path):
    netrc(tmp_path / ".netrc")

    open_store(StoreURL.parse(url_of(pair, login=f"crawler:{SECRET}@")).typed)[0].close()

    assert sent(pair) == {basic("crawler", SECRET)}


def test_a_hook_of_python_makes_the_headers_of_each_request(pair):
    asked: list[str] = []

    def hook(host: str) -> dict[str, str]:
        asked.append(host)
        return {"Authorization": f"Negotiate {len(asked)}", "X-Forwarded-User": "crawler"}

    with HBaseStore(HOST, pair[0].port, thrift2=pair[1].port, timeout=2.0, http=HTTPMode(headers=hook)):
        pass

    assert sent(pair) == {f"Negotiate {number + 1}" for number in range(len(asked))}
    assert set(asked) == {HOST}


def test_a_hook_may_be_named_by_the_environment_and_by_no_url(pair, monkeypatch, tmp_path):
    (tmp_path / "own_headers_of_a_test.py").write_text("def headers(host): return {'Authorization': 'Own ' + host}")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InvalidArgument, match="auth=hook needs WEBTABLE_HBASE_HEADERS=module:function"):
        open_store(url_of(pair, "hook"))
    with pytest.raises(InvalidArgument, match="must be one of basic, bearer, hook"):
        open_store(url_of(pair, "own_headers_of_a_test:headers"))
    assert "own_headers_of_a_test" not in sys.modules
    monkeypatch.setenv("WEBTABLE_HBASE_HEADERS", "own_headers_of_a_test:headers")

    open_store(url_of(pair, "hook"))[0].close()

    assert sent(pair) == {f"Own {HOST}"}


def test_kerberos_is_refused_with_the_url_that_serves(pair):
    with pytest.raises(InvalidArgument, match=r"hbase\+native://ZOOKEEPER:2181/TABLE\?auth=kerberos"):
        open_store(url_of(pair, "negotiate"))


# --- whom they are sent to -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hosts", [None, "", "gateway.example", "127.0.0.10", "*.0.0.1.example"])
def test_a_host_that_the_environment_does_not_name_is_sent_nothing(pair, monkeypatch, hosts):
    monkeypatch.setenv("WEBTABLE_HBASE_TOKEN", SECRET)
    if hosts is not None:
        monkeypatch.setenv("WEBTABLE_HBASE_AUTH_HOSTS", hosts)

    with pytest.raises(InvalidArgument, match="WEBTABLE_HBASE_AUTH_HOSTS does not name"):
        open_store(url_of(pair, "bearer"))

    assert not pair[0].connections


@pytest.mark.parametrize("line", ["machine other.example", "default"])
def test_a_host_that_netrc_does_not_name_is_sent_nothing(pair, tmp_path, line):
    (tmp_path / ".netrc").write_text(f"{line} login crawler password {SECRET}\n")
    (tmp_path / ".netrc").chmod(0o600)

    with pytest.raises(InvalidArgument, match=r"no credentials for '127\.0\.0\.1'"):
        open_store(url_of(pair, "basic"))

    assert not pair[0].connections


@pytest.mark.parametrize("auth", ["auth=basic", "auth=bearer", "login"])
def test_in_the_clear_credentials_leave_this_machine_by_no_url(tmp_path, auth):
    netrc(tmp_path / ".netrc", "gateway.example")
    url = "hbase+http://u@gateway.example/pages" if auth == "login" else f"hbase+http://gateway.example/pages?{auth}"

    with pytest.raises(InvalidArgument, match=r"need TLS: hbase\+https://"):
        address_of(StoreURL.parse(url)).settings()


def test_credentials_do_not_follow_a_redirect(pair, servers, tmp_path):
    netrc(tmp_path / ".netrc")
    pair[0].answer = status("307 Temporary Redirect")

    with pytest.raises(StoreRefused, match="redirects are not followed"):
        open_store(url_of(pair, "basic"))

    assert len(pair[0].heads) == 1


def test_a_login_is_refused_where_there_is_none():
    with pytest.raises(InvalidArgument, match="there is no logging in"):
        address_of(StoreURL.parse(f"hbase://crawler:{SECRET}@gateway/pages"))


# --- headers that cannot be sent -------------------------------------------------------------------------------------

HOOKS = {
    "a line end": lambda _: {"Authorization": f"{SECRET}\r\nX: y"},
    "no latin letters": lambda _: {"Authorization": f"{SECRET} \u2603"},
    "no text": lambda _: {"Authorization": SECRET.encode()},
    "one of ours": lambda _: {"Content-Length": SECRET},
    "no name": lambda _: {f"{SECRET[:3]} : x": "y"},
    "an error": lambda _: 1 / len(SECRET[:0]),
    "nothing": lambda _: None,
}


@pytest.mark.parametrize("hook", HOOKS.values(), ids=HOOKS)
def test_headers_that_cannot_be_sent_are_an_error_without_their_value(pair, hook):
    with pytest.raises(StoreRefused, match="header") as caught:
        HBaseStore(HOST, pair[0].port, timeout=2.0, http=HTTPMode(headers=hook))

    assert SECRET not in "".join(traceback.format_exception(caught.value))
    assert not pair[0].heads


def test_a_token_with_a_line_end_in_it_is_a_wrong_argument(pair, monkeypatch):
    monkeypatch.setenv("WEBTABLE_HBASE_TOKEN", f"{SECRET}\nX: y")
    monkeypatch.setenv("WEBTABLE_HBASE_AUTH_HOSTS", HOST)

    with pytest.raises(InvalidArgument, match=r"the credentials for '127\.0\.0\.1' are not valid") as caught:
        open_store(url_of(pair, "bearer"))

    assert SECRET not in "".join(traceback.format_exception(caught.value))


# --- that nothing shows them -----------------------------------------------------------------------------------------


class Told:
    """Everything that a program could see: what was printed, logged, warned of and raised, and what objects show."""

    def __init__(self, caplog, capfd) -> None:
        self.parts: list[str] = []
        self._caplog, self._capfd = caplog, capfd

    def error(self, call) -> None:
        try:
            call()
        except WebTableError as exc:
            shown = io.StringIO()
            traceback.print_exception(exc, file=shown)
            self.parts += [shown.getvalue(), repr(exc), str(vars(exc)), repr(pickle.dumps(str(exc)))]

    def text(self) -> str:
        captured = self._capfd.readouterr()
        logged = [f"{record.getMessage()} {vars(record)}" for record in self._caplog.records]
        return "\n".join([*self.parts, captured.out, captured.err, *logged])


@pytest.mark.slow
@pytest.mark.usefixtures("manual_clock")
def test_a_secret_is_in_nothing_that_is_shown_logged_or_raised(pair, monkeypatch, tmp_path, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    netrc(tmp_path / ".netrc")
    monkeypatch.setenv("WEBTABLE_HBASE_PASSWORD", SECRET)
    monkeypatch.setenv("WEBTABLE_HBASE_TOKEN", SECRET)
    told = Told(caplog, capfd)
    urls = [url_of(pair, "basic"), url_of(pair, "bearer"), url_of(pair, login=f"crawler:{SECRET}@")]
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for url in urls:
            for answer in (fixed, status("401 Unauthorized"), status("503 Busy"), lambda _: b"no HTTP\r\n\r\n"):
                with contextlib.suppress(WebTableError), open_store(url)[0] as store:
                    pair[0].answer = pair[1].answer = answer
                    told.parts += [repr(store), str(vars(store)), store.name, repr(store.servers())]
                    told.parts += [repr(vars(pool)) for pool in [gateway.pool for gateway in store._gateways]]
                    told.error(lambda store=store: store.read("pages", ROWS[:2]))
                pair[0].answer = fixed
                pair[1].answer = fixed
            told.error(lambda url=url: webtable.open(url))
            parsed = StoreURL.parse(url)
            told.parts += [repr(parsed), str(parsed), repr(address_of(parsed)), repr(address_of(parsed).settings())]
            told.parts += [
                CommandSession(url).command("info"),
                str(beside(url, "ingest")),
                table_of(url),
                str(adapter_of(url)),
            ]
    told.parts += [str(one.message) for one in warned]

    text = told.text()

    assert len(sent(pair) - {None}) == 2
    assert "401" in text
    for secret in (SECRET, basic("crawler", SECRET), basic("crawler", SECRET).removeprefix("Basic ")):
        assert secret not in text


@pytest.mark.parametrize(
    "url",
    [
        f"hbase://crawler:{SECRET}@gateway/pages",
        f"hbase+https://crawler:{SECRET}@gateway:port/pages",
        f"hbase+https://crawler:{SECRET}/with/slashes@gateway/pages",
        f"hbase+https://crawler:{SECRET}?x=@gateway/pages",
        f"hbase+https://crawler:{SECRET}#x@gateway/pages",
        f"hbase+https://crawler:{SECRET}@/pages",
        f"hbase+https://crawler:{SECRET}@g,g/pages",
        f"hbase+https://crawler:{SECRET}@gateway/pages?unknown=1",
        f"hbase+https://crawler:{SECRET}@[::1/pages",
        f"hbsae://crawler:{SECRET}@gateway/pages",
    ],
)
def test_the_error_of_a_wrong_url_has_no_password(url):
    with pytest.raises(WebTableError) as caught, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        open_store(url)

    assert SECRET not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("words", [("info",), ("pages", "example.com"), ("create",)])
@pytest.mark.parametrize("is_option", [True, False])
def test_the_command_line_shows_no_password(pair, tmp_path, words, is_option):
    pair[0].answer = status("401 Unauthorized")
    url = url_of(pair, login=f"crawler:{SECRET}@")

    ended = subprocess.run(
        [sys.executable, "-m", "webtable.cli", *(["-s", url] if is_option else []), *words],
        env=os.environ | ({} if is_option else {"WEBTABLE_STORE": url}),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode
    assert "401" in ended.stderr
    assert SECRET not in ended.stdout + ended.stderr
    assert not [path for path in tmp_path.rglob("*") if SECRET in path.name]


def test_a_netrc_that_cannot_be_read_is_named_and_not_quoted(pair, tmp_path):
    (tmp_path / ".netrc").write_text(f"machine {HOST} login crawler passwrod {SECRET}\n")
    (tmp_path / ".netrc").chmod(0o600)

    with pytest.raises(InvalidArgument, match="is not valid netrc") as caught:
        open_store(url_of(pair, "basic"))

    assert SECRET not in str(caught.value)


def test_a_netrc_that_others_may_read_is_refused(pair, tmp_path):
    netrc(tmp_path / ".netrc")
    (tmp_path / ".netrc").chmod(0o644)

    with pytest.raises(InvalidArgument, match="others may read it"):
        open_store(url_of(pair, "basic"))
