"""Invitations: who minted them, what they say, and that a changed one is no longer one."""

import base64
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from confide.collect.invitations import (
    LONGEST,
    Signer,
    cell,
    checked_url,
    decoded,
    hashed,
    key_file,
    link,
    split_link,
    uncell,
)
from confide.errors import InvalidInput
from confide.questions import Questionnaire

PAY = {"pay": {"low": 0, "high": 9, "epsilon": 1.0}}
SURVEY = Questionnaire.from_dict({"groups": ["region", "role"], "questions": PAY})
PLAIN = Questionnaire.from_dict({"questions": PAY})
SIGNER = Signer(bytes(range(32)), SURVEY)


def test_what_is_minted_is_read() -> None:
    token = SIGNER.mint(["Süd", 'a "b"'])
    found = SIGNER.read(token)
    assert found is not None
    assert found.groups == ("Süd", 'a "b"')
    raw = decoded(token)
    assert raw is not None
    assert found.hash == hashed(raw)
    assert uncell(found.cell) == found.groups


def test_a_plain_invitation_is_short_and_says_nothing() -> None:
    signer = Signer(bytes(32), PLAIN)
    token = signer.mint()
    assert len(token) == 44
    found = signer.read(token)
    assert found is not None
    assert (found.groups, found.cell) == ((), "")
    assert len({signer.mint() for _ in range(1000)}) == 1000


def test_every_changed_bit_is_noticed() -> None:
    token = SIGNER.mint(["north", "nurse"])
    raw = bytearray(decoded(token) or b"")
    for bit in range(8 * len(raw)):
        raw[bit // 8] ^= 1 << bit % 8
        changed = base64.urlsafe_b64encode(bytes(raw)).decode().rstrip("=")
        assert SIGNER.read(changed) is None
        raw[bit // 8] ^= 1 << bit % 8


def test_one_token_has_one_spelling() -> None:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    signer = Signer(bytes(32), PLAIN)
    tokens = [signer.mint() for _ in range(3)]
    longer = Signer(bytes(32), SURVEY).mint(["a", "bc"])
    for token in (*tokens, longer):
        same = [t for t in letters if decoded(token[:-1] + t) == decoded(token)]
        assert same == [token[-1]]


@pytest.mark.parametrize(
    "token", ["", "=", "a b", "ä", "A" * (LONGEST + 1), "AQ", "\n", "A" * 43, None, 3, b"AQ", []]
)
def test_what_is_no_token(token: object) -> None:
    assert decoded(token) is None


def test_a_token_of_another_key_or_survey_is_not_ours() -> None:
    token = SIGNER.mint(["north", "nurse"])
    assert Signer(bytes(32), SURVEY).read(token) is None
    other = Questionnaire.from_dict(SURVEY.to_dict() | {"title": "Another wording"})
    assert Signer(SIGNER.key, other).read(token) is None


@pytest.mark.parametrize("groups", [[], ["north"], ["north", ""], ["north", " "], ["a", "b", "c"]])
def test_groups_must_be_those_of_the_survey(groups: list[str]) -> None:
    with pytest.raises(InvalidInput):
        SIGNER.mint(groups)


def test_groups_must_fit_into_a_link() -> None:
    with pytest.raises(InvalidInput, match="fit into a link"):
        SIGNER.mint(["x" * LONGEST, "y"])


def test_cells_of_groups() -> None:
    assert cell(()) == ""
    assert uncell("") == ()
    assert len({cell(g) for g in [("a", "b"), ("a,b",), ('a", "b',), ("ab",)]}) == 4


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org",
        "example.org",
        "ftp://example.org",
        "https://",
        "https://user@example.org",
        "https://example.org/?a=1",
        "https://example.org/#a",
        "",
        "http://127.0.0.1.example.org",
        "https://:word@example.org",
        "https://example.org:99999",
        "https://example.org:port",
        "https://[example.org",
    ],
)
def test_addresses_that_are_not_secure_or_not_plain(url: str) -> None:
    with pytest.raises(InvalidInput):
        checked_url(url)


def test_links() -> None:
    assert link("https://example.org/pay", "abc") == "https://example.org/pay/#abc"
    assert split_link("http://127.0.0.1:8300/#abc") == ("http://127.0.0.1:8300/", "abc")
    assert split_link("http://localhost:8300") == ("http://localhost:8300/", "")


def test_a_key_is_made_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    file = key_file(tmp_path / "survey.key")
    assert file.read() is None
    key = file.make()
    assert file.read() == key
    assert file.path.stat().st_mode & 0o777 == 0o600
    assert len(key) == 32
    if os.name == "posix":
        file.path.chmod(0o640)
        with pytest.raises(InvalidInput, match="others can use"):
            file.read()
    file.path.chmod(0o600)
    file.path.write_text("something else")
    with pytest.raises(InvalidInput, match="damaged"):
        file.read()


def test_of_keys_that_are_made_at_once_all_get_the_same(tmp_path: Path) -> None:
    start = Barrier(8)

    def made(_: int) -> bytes:
        start.wait()
        return key_file(tmp_path / "survey.key").make_once()

    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(made, range(8)))
    assert keys == {key_file(tmp_path / "survey.key").read()}
    assert [path.name for path in tmp_path.iterdir()] == ["survey.key"]
