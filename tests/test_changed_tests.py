"""`make quick` runs the tests of what has changed, and leaves no files behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from changed_tests import changed_files, concerned

SCRIPT = Path(__file__).with_name("changed_tests.py")
FILES = {
    "README.md": "",
    "Makefile": "",
    "docs/orders.md": "",
    "src/shop/__init__.py": "from shop.orders.basket import Basket\nfrom shop.letters import text\n",
    "src/shop/orders/__init__.py": "if TYPE_CHECKING:\n    from shop.orders.prices import price\n",
    "src/shop/orders/basket.py": "from shop.orders import prices\n\nclass Basket: ...\n",
    "src/shop/orders/prices.py": '"""\n>>> 1 + 1\n2\n"""\n',
    "src/shop/letters.py": "text = 1\n",
    "tests/conftest.py": "",
    "tests/counting.py": "import shop.orders.prices\n",
    "tests/test_basket.py": "from shop import Basket\n",
    "tests/docs/test_docs.py": "",
    "tests/test_letters.py": "from shop import text\n",
    "tests/test_makefile.py": "MAKEFILE = 'Makefile'\n",
    "tests/test_order_numbers.py": "",
    "tests/test_patched.py": "PATCHED = 'shop.orders.prices.price'\n",
    "tests/test_prices_by_import.py": "from shop.orders.basket import Basket\n",
    "tests/test_sums.py": "from counting import total\n",
    "tests/test_totals.py": "from shop.orders import price\n",
    "tests/web/conftest.py": "",
    "tests/web/test_web.py": "import shop\n",
}
COMMIT = ["-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-a", "-m", "a"]


def git(folder, *arguments):
    subprocess.run(["git", *arguments], cwd=folder, check=True)


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A repository of a package `shop` and its tests, on a branch behind main's first commit."""
    folder = tmp_path_factory.mktemp("shop")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, *COMMIT)
    git(folder, "switch", "-q", "-c", "branch")
    return folder


@pytest.fixture
def chosen(shop, monkeypatch):
    monkeypatch.syspath_prepend(shop / "src")
    return lambda *changed: [name.removeprefix("tests/") for name in concerned(shop, set(changed))]


def test_a_module_has_the_tests_named_for_it_those_that_import_it_its_names_or_an_importer_and_its_doctests(chosen):
    assert chosen("src/shop/orders/prices.py") == [
        "src/shop/orders/prices.py",
        "test_order_numbers.py",
        "test_patched.py",
        "test_prices_by_import.py",
        "test_sums.py",
        "test_totals.py",
    ]


def test_an_import_of_the_root_package_is_none_of_what_it_imports(chosen):
    assert chosen("src/shop/letters.py") == ["test_letters.py"]


def test_a_module_that_is_gone_has_the_tests_that_are_named_for_it(chosen):
    assert chosen("src/shop/basket.py") == ["test_basket.py"]


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        ("tests/test_letters.py", ["test_letters.py"]),
        ("tests/counting.py", ["test_sums.py"]),
        ("tests/web/conftest.py", ["web/test_web.py"]),
        ("Makefile", ["test_makefile.py"]),
        ("docs/orders.md", ["docs/test_docs.py"]),
        ("README.md", []),
    ],
)
def test_other_files_have_the_tests_that_use_or_name_them(chosen, changed, tests):
    assert chosen(changed) == tests


def test_what_is_committed_uncommitted_untracked_or_gone_has_changed(shop):
    (shop / "src/shop/letters.py").write_text("text = 2\n")
    git(shop, *COMMIT)
    (shop / "Makefile").write_text("all:\n")
    (shop / "tests/test_web_shops.py").write_text("")
    (shop / "docs/orders.md").unlink()

    changed = changed_files(shop)

    git(shop, "clean", "-q", "-f", "tests")
    git(shop, "reset", "-q", "--hard", "main")
    assert changed == {"src/shop/letters.py", "Makefile", "tests/test_web_shops.py", "docs/orders.md"}
    assert changed_files(shop) == set()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_no_files(tmp_path, number):
    waiting = tmp_path / "test_waiting.py"
    waiting.write_text(
        "import pathlib, time\n"
        "def test_it(tmp_path):\n"
        f"    pathlib.Path({str(tmp_path / 'folder')!r}).write_text(str(tmp_path))\n"
        "    time.sleep(60)\n"
    )
    code = f"import changed_tests as c; c.concerned = lambda *_: [{str(waiting)!r}]; raise SystemExit(c.main())"
    environment = {**os.environ, "PYTHONPATH": str(SCRIPT.parent)}
    run = subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=-1, stderr=-1)
    written = tmp_path / "folder"
    until = time.monotonic() + 60
    while not (written.exists() and written.read_text()) and time.monotonic() < until:
        time.sleep(0.05)
    folder = Path(written.read_text())
    assert folder.is_dir()

    run.send_signal(number)
    run.communicate(timeout=30)

    assert run.returncode == 128 + number
    assert not [parent for parent in folder.parents if parent.name.startswith("quick-") and parent.exists()]
