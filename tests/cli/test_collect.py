"""The commands of those who ask people and of those who answer, against a real service."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from confide.cli.answer import _ask
from confide.cli.app import run
from confide.collect import Client, Signer, key_file
from confide.errors import InvalidInput
from confide.questions import Question
from confide.survey import Survey

ROOT = Path(__file__).parents[2]


def page_survey() -> str:
    """The survey of the how-to page."""
    text = (ROOT / "docs" / "how-to" / "collect.md").read_text()
    found = re.search(r"^```toml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture
def survey(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(here / "state"))
    (here / "survey.toml").write_text(page_survey())
    (here / "people.csv").write_text("mail,region\na@x.org,north\nb@x.org,south\nc@x.org,north\n")
    return here / "survey.toml"


@contextmanager
def served(*arguments: str) -> Iterator[dict[str, str]]:
    """`confide serve` as a program of its own, on a free port and without the dashboard."""
    command = [sys.executable, "-m", "confide", "serve", *arguments, "--port", "0", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())
    finally:
        process.terminate()
        _, errors = process.communicate(timeout=20)
    # Ended on demand, and nothing about anybody's request in its output.
    assert (process.returncode, errors) == (0, "")


def links(path: Path, page: str) -> list[str]:
    rows = path.read_text().splitlines()[1:]
    return [page + "#" + row.rpartition("#")[2] for row in rows]


def said(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_from_an_invitation_to_a_density(
    survey: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    invite = ["invite", "survey.toml", "--people", "people.csv", "--url", "https://x.example.org"]
    assert run([*invite, "-o", "links.csv", "--json"]) == 0
    assert said(capsys) == {"n": 3, "before": 0, "output": "links.csv", "key": "survey.key"}
    with served("survey.toml", "--no-owner") as found:
        first, second, third = links(here / "links.csv", found["page"])
        answers = ["--set", "pay=52000", "--set", "smokes=no", "--json"]
        assert run(["answer", first, *answers]) == 0
        one = said(capsys)
        assert one["drawn_before"] is False
        assert run(["answer", first, *answers]) == 0
        again = said(capsys)
        assert again == one | {"drawn_before": True}
        assert run(["answer", second, *answers]) == 0
        assert said(capsys)["receipt"] != one["receipt"]
        assert run(["verify", found["page"], "survey.toml", "--json"]) == 0
        assert said(capsys)["holds"] is True
        assert run(["export", "survey.toml", "-o", "early.parquet"]) == 2
        assert "--before-closing" in capsys.readouterr().err
        assert not (here / "early.parquet").exists()
        assert run(["export", "survey.toml", "-o", "reports.parquet", "--close", "--json"]) == 0
        assert said(capsys) == {"n": 2, "closed": True, "output": ["reports.parquet"]}
        # One row a person: not for others to read.
        assert (here / "reports.parquet").stat().st_mode & 0o777 == 0o600
        assert run(["answer", third, *answers]) == 2
        assert "The survey has ended" in capsys.readouterr().err
    make = ["summarize", "survey.toml", "reports.parquet", "-o", "counts.json", "--by", "region"]
    assert run([*make, "--json"]) == 0
    assert said(capsys)["groups"] == 2
    assert run(["density", "survey.toml", "counts.json", "--question", "pay", "--json"]) == 0
    assert said(capsys)["n"] == 2


def test_a_report_is_not_taken_for_an_answer(
    survey: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A number among noisy reports is no number of days, and a second answer changes nothing."""
    survey.write_text(page_survey().replace('groups = ["region"]', ""))
    with served("survey.toml", "--no-owner", "--anybody", "5") as found:
        answers = ["--set", "pay=52000", "--set", "smokes=no"]
        assert run(["answer", found["page"], *answers]) == 0
        first = capsys.readouterr()
        told = " ".join(first.out.split())
        assert "noisy reports, not your answers" in told
        assert re.search(r"number of the noisy report \S+ pay [\d,]+ smokes [01] ", told)
        assert "It is not your answer and has no unit." in told
        assert "sent again" not in first.out + first.err
        again = ["--set", "pay=61234", "--set", "smokes=yes"]
        assert run(["answer", found["page"], *again]) == 0
        second = capsys.readouterr()
        assert "The earlier report was sent again" in second.err
        assert "the answers given now were not used" in second.err
        assert second.err.count("\n") == 1
        assert "61" not in second.err
        assert "61234" not in second.out.replace(",", "")
        receipts = [one.out.split("Receipt:")[1].strip() for one in (first, second)]
        assert receipts[0] == receipts[1]
        # Without answers nobody is told that answers were not used.
        assert run(["answer", found["page"]]) == 0
        third = capsys.readouterr()
        assert third.err == ""
        assert "It was drawn by an earlier run, and was sent again" in " ".join(third.out.split())


def test_a_lost_key_is_not_replaced_in_silence(
    survey: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    invite = ["invite", "survey.toml", "--people", "people.csv", "--url", "https://x.example.org"]
    assert run([*invite, "-o", "links.csv"]) == 0
    assert run([*invite, "-o", "more.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["before"] == 3
    (here / "survey.key").unlink()
    assert run([*invite, "-o", "again.csv"]) == 2
    assert "signing key of the 6 invitations" in capsys.readouterr().err
    assert not (here / "again.csv").exists()
    assert not (here / "survey.key").exists()


def test_a_survey_that_has_closed_invites_nobody(
    survey: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    survey.write_text(page_survey().replace("2027-01-31", "2020-01-31"))
    invite = ["invite", "survey.toml", "--people", "people.csv", "--url", "https://x.example.org"]
    assert run([*invite, "-o", "links.csv"]) == 2
    assert "closes in the future" in capsys.readouterr().err
    assert not (here / "survey.key").exists()


def test_anybody(survey: Path, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    survey.write_text(page_survey().replace('groups = ["region"]', ""))
    with served("survey.toml", "--no-owner", "--anybody", "5") as found:
        assert run(["answer", found["page"], "--set", "pay=1", "--set", "smokes=yes"]) == 0
        assert "Receipt" in capsys.readouterr().out


def test_the_demo_starts_and_moves(here: Path) -> None:
    from urllib.request import Request, urlopen

    from tests.unit.collect.running import free_port

    with served("--demo", "--owner-port", str(free_port())) as found:
        assert found["invitation"].startswith(found["page"])
        page, _, secret = found["dashboard"].partition("#")
        headers = {"authorization": f"Bearer {secret}"}
        answered, until = 0, time.monotonic() + 30
        while time.monotonic() < until:
            with urlopen(Request(page + "api/state", headers=headers)) as response:
                state = json.loads(response.read())
            if answered and state["answered"] > answered:
                break
            answered = state["answered"]
            time.sleep(0.2)
        assert 0 < answered < state["answered"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["invite", "survey.toml", "--url", "https://x.org", "-o", "l.csv"], "either -n or"),
        (
            ["invite", "survey.toml", "-n", "3", "--url", "https://x.org", "-o", "l.csv"],
            "a table of people",
        ),
        (
            ["invite", "survey.toml", "--people", "people.csv", "--url", "x.org", "-o", "l.csv"],
            "https://",
        ),
        (
            [
                "invite",
                "survey.toml",
                "--people",
                "people.csv",
                "--url",
                "https://x.org",
                "-o",
                "l",
            ],
            "ends in .csv",
        ),
        (["serve"], "a survey"),
        (["serve", "survey.toml"], "Invite people first"),
        (["serve", "survey.toml", "--demo"], "either a survey or --demo"),
        (["serve", "survey.toml", "--anybody", "5"], "a survey without groups"),
        (["export", "survey.toml", "-o", "r.parquet"], "a store at"),
        (["export", "survey.toml", "-o", "r.csv"], "ends in .parquet"),
        (["answer", "https://x.org/#AAAA"], "a complete link"),
        (["answer", "http://x.org/"], "begins with https"),
        (["verify", "http://127.0.0.1:9", "survey.toml"], "an answer from"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(
    survey: Path,
    here: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    sentence: str,
) -> None:
    before = sorted(path.name for path in here.iterdir())
    assert run(arguments) == 2
    told = capsys.readouterr()
    assert sentence in told.err
    assert told.err.count("\n") == 1
    assert sorted(path.name for path in here.iterdir()) == before


def test_a_survey_that_changed_is_not_served(
    survey: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    invite = ["invite", "survey.toml", "--people", "people.csv", "--url", "https://x.example.org"]
    assert run([*invite, "-o", "links.csv"]) == 0
    for change in (("Do you smoke?", "Do you smoke now?"), ("high = 300000", "high = 200000")):
        survey.write_text(page_survey().replace(*change))
        assert run(["serve", "survey.toml", "--no-owner", "--port", "0"]) == 2
        assert "survey" in capsys.readouterr().err


def test_answers_set_twice_or_misspelt(
    survey: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    survey.write_text(page_survey().replace('groups = ["region"]', ""))
    with served("survey.toml", "--no-owner", "--anybody", "5") as found:
        for given in (["pya=1"], ["pay"], ["pay=1", "pay=2"], ["pay=1,000"], ["pay=nan"]):
            options = [part for each in given for part in ("--set", each)]
            assert run(["answer", found["page"], *options, "--json"]) == 2
            err = capsys.readouterr().err
            # The value itself is in no message.
            assert "1,000" not in err
            assert "Expected" in err
    assert not (here / "state").exists()


def test_an_answer_set_to_nothing_is_declined(
    survey: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = page_survey().replace('groups = ["region"]', "")
    survey.write_text(text.replace("high = 300000", "high = 300000\nprefer_not_to_say = true"))
    with served("survey.toml", "--no-owner", "--anybody", "5") as found:
        # The other question cannot be declined.
        options = ["--set", "pay=", "--set", "smokes="]
        assert run(["answer", found["page"], *options, "--json"]) == 2
        assert "for 'smokes', got another word" in capsys.readouterr().err
        options = ["--set", "pay=", "--set", "smokes=no"]
        assert run(["answer", found["page"], *options, "--json"]) == 0
        assert set(said(capsys)["sent"]) == {"pay", "smokes"}


def test_a_bad_answer_in_python_names_its_question(survey: Path, here: Path) -> None:
    survey.write_text(page_survey().replace('groups = ["region"]', ""))
    with served("survey.toml", "--no-owner", "--anybody", "5") as found:
        client = Client(found["page"])
        message = r"as the answer to 'smokes', got another word\. Nothing was sent\.$"
        with pytest.raises(InvalidInput, match=message):
            client.answer({"pay": 1, "smokes": "perhaps"})
    assert not (here / "state").exists()


def test_a_question_does_not_steer_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = "no\x1b[2Jyes"
    question = Question.from_dict(
        {"categories": [hostile, "b"], "epsilon": 1.0, "missing": hostile, "text": hostile}
    )
    prompts: list[str] = []
    typed = iter(["\u00b2", "9" * 5000, "2"])

    def prompt(text: str, **_: Any) -> str:
        prompts.append(text)
        return next(typed)

    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.prompt", prompt)
    # A digit that is no number, and one too long for Python, are no answers.
    assert _ask("q", question) == "b"
    assert len(prompts) == 3
    assert "\x1b" not in prompts[0] + capsys.readouterr().out


INVITE = ["invite", "survey.toml", "--people", "people.csv", "--url", "https://x.example.org"]


def test_what_comes_next_is_what_the_links_need(
    survey: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*INVITE, "-o", "links.csv"]) == 0
    told = capsys.readouterr().out
    assert "confide serve survey.toml --url https://x.example.org" in " ".join(told.split())
    local = [*INVITE[:-1], "http://127.0.0.1:8450"]
    assert run([*local, "-o", "more.csv"]) == 0
    assert "confide serve survey.toml --port 8450" in " ".join(capsys.readouterr().out.split())
    # The how-to page serves a survey on its own machine without a word about ports.
    usual = [*INVITE[:-1], "http://127.0.0.1:8300"]
    assert run([*usual, "-o", "usual.csv"]) == 0
    told = capsys.readouterr().out
    assert "Next: confide serve survey.toml" in told
    assert "--port" not in told
    assert "--url" not in told
    assert run(["export", "survey.toml", "-o", "reports.parquet", "--close"]) == 0
    people = 3 * (len(Path("people.csv").read_text().splitlines()) - 1)
    told = " ".join(capsys.readouterr().out.split())
    assert told.endswith(f"-o results.html --by region --invited {people}")


def test_a_changed_deadline_is_named(
    survey: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*INVITE, "-o", "links.csv"]) == 0
    survey.write_text(page_survey().replace("2027-01-31", "2027-02-28"))
    assert run(["serve", "survey.toml", "--no-owner", "--port", "0"]) == 2
    told = capsys.readouterr().err
    assert 'closes ("2027-01-31T18:00:00+00:00" in the store, "2027-02-28T18:' in told


def test_what_an_owner_may_not_mean_is_said(
    survey: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = page_survey().replace("epsilon = 1.0", "epsilon = 30.0")
    survey.write_text(text.replace('labels_de = ["Nein", "Ja"]\n', ""))
    assert run([*INVITE, "-o", "links.csv"]) == 0
    weak, foreign = capsys.readouterr().err.splitlines()
    assert weak.startswith("Warning: One person spends epsilon 60")
    assert foreign == (
        "Warning: These texts have no translation into 'de' and are shown in 'en': "
        "labels of 'smokes'."
    )


def test_the_survey_of_the_page_has_nothing_to_warn_of(
    survey: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*INVITE, "-o", "links.csv"]) == 0
    assert capsys.readouterr().err == ""


def test_mechanisms_that_the_page_lacks_invite_nobody(
    survey: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gamma = 'mechanism = "two-sided-gamma"\nshape = 1.0\nnoise_scale = 9e5'
    survey.write_text(page_survey().replace("high = 300000\nepsilon = 1.0", f"high = 3e5\n{gamma}"))
    before = sorted(path.name for path in here.iterdir())
    assert run([*INVITE, "-o", "links.csv"]) == 2
    assert "for the question 'pay', got 'two-sided-gamma'" in capsys.readouterr().err
    assert run(["serve", "survey.toml"]) == 2
    assert "for the question 'pay', got 'two-sided-gamma'" in capsys.readouterr().err
    assert sorted(path.name for path in here.iterdir()) == before


def test_a_store_is_named_by_the_environment_and_its_password_by_nobody(
    survey: Path, here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONFIDE_STORE", "elsewhere.db")
    assert run([*INVITE, "-o", "links.csv"]) == 0
    assert (here / "elsewhere.db").exists()
    assert not (here / "survey.reports").exists()
    # What is typed comes first.
    assert run([*INVITE, "-o", "more.csv", "--store", "typed.db"]) == 0
    assert (here / "typed.db").exists()
    pytest.importorskip("psycopg")
    capsys.readouterr()
    address = "postgresql://ann:hunter2@127.0.0.1:1/nothing"
    assert run([*INVITE, "-o", "third.csv", "--store", address]) == 2
    told = capsys.readouterr().err
    assert "hunter2" not in told
    assert "CONFIDE_STORE" in told
    monkeypatch.setenv("CONFIDE_STORE", address)
    assert run([*INVITE, "-o", "third.csv"]) == 2
    told = capsys.readouterr().err
    assert "hunter2" not in told
    assert "Warning" not in told
    assert not (here / "third.csv").exists()


def test_two_first_invitations_at_once_share_one_key(survey: Path, here: Path) -> None:
    command = [sys.executable, "-m", "confide", *INVITE, "-o"]
    both = [subprocess.Popen([*command, f"{name}.csv"], cwd=here) for name in "ab"]
    assert [each.wait(60) for each in both] == [0, 0]
    signer = Signer(key_file(here / "survey.key").read() or b"", Survey.read(survey))
    for name in "ab":
        for row in (here / f"{name}.csv").read_text().splitlines()[1:]:
            assert signer.read(row.rpartition("#")[2]) is not None


def test_nobody_is_asked_for_more_than_they_allow(
    survey: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    survey.write_text(page_survey().replace('groups = ["region"]', ""))
    with served("survey.toml", "--no-owner", "--anybody", "5") as found:
        answers = ["--set", "pay=1", "--set", "smokes=yes"]
        assert run(["answer", found["page"], *answers, "--at-most", "1.5"]) == 2
        told = capsys.readouterr().err
        assert "costs at most epsilon 1.5, got one that costs 2" in told
        assert "--at-most 2 " in told
        assert not (here / "state").exists()
        assert run(["answer", found["page"], *answers, "--at-most", "2"]) == 0
