"""The page, the Markdown and the tables of results: what they say, and that text stays text."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from confide.accounting import shuffled
from confide.curves import CellDensity
from confide.errors import InvalidInput
from confide.estimators import CategoryShares
from confide.estimators.intervals import Intervals
from confide.questions import Questionnaire
from confide.results import Quantity, Result, Results, estimate, pictures, tables, telling
from confide.results.comparing import each_level
from confide.results.digits import Format, Percent
from confide.results.markdown import document as markdown
from confide.results.page import document as page
from confide.results.pictures import Scale
from confide.results.readers import DELTA, of_person
from confide.summaries import Counts, Groups, Summaries

EVIL = '</title><script>alert(1)</script> "onload=x \u202e'
SURVEY = Questionnaire.from_dict(
    {
        "title": EVIL,
        "groups": ["region"],
        "epsilon": 4.0,
        "questions": {
            "pay": {"text": f"Pay? {EVIL}", "unit": EVIL, "low": 0, "high": 100, "size": 32},
            "mood": {
                "text": "Mood | `x`",
                "categories": ["bad", "so", "good"],
                "labels": ["bad", EVIL, "good"],
            },
            "smokes": {"categories": ["no", "yes"]},
        },
    }
)
REGIONS = ("north", f"<i>{EVIL}", "tiny")


def _summaries(ask: Questionnaire = SURVEY, sizes: tuple[int, ...] = (600, 900, 3)) -> Summaries:
    draw = np.random.default_rng(7)
    found: dict[str, Any] = {}
    for at, (name, mechanism) in enumerate(ask.mechanisms.items()):
        own: dict[Any, Counts] = {}
        for seed, (region, n) in enumerate(zip(REGIONS, sizes, strict=True)):
            answers: Any = draw.uniform(10, 40, n) + 30 * seed
            if name == "mood":
                answers = draw.choice(["bad", "so", "good"], n, p=[0.2, 0.3, 0.5]).tolist()
            elif name == "smokes":
                answers = np.where(draw.random(n) < 0.2 + 0.5 * seed, "yes", "no").tolist()
            reports = mechanism.simulate(answers, seed=10 * at + seed)
            own[region] = Counts(mechanism, Counts.of(reports).counts)
        found[name] = Groups(("region",), own)
    return Summaries(found)


@pytest.fixture(scope="module")
def results() -> Results:
    return estimate(SURVEY, _summaries(), invited=2000)


class Elements(HTMLParser):
    """The elements of a page, and the text outside of its style sheet."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.keys: list[tuple[str, str | None]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.keys += attrs

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def parsed(text: str) -> Elements:
    found = Elements()
    found.feed(text)
    return found


def test_text_stays_text_on_the_page(results: Results) -> None:
    text = page(results)
    found = parsed(text)
    assert "script" not in found.tags
    assert "i" not in found.tags
    assert found.tags.count("title") == 1
    assert not [key for key, _ in found.keys if key.startswith("on")]
    assert "\u202e" not in text
    assert "<script>alert(1)</script>" in "".join(found.text)
    # Nothing is loaded: the only addresses are of data in the page itself.
    places = [value or "" for key, value in found.keys if key in ("href", "src", "srcset")]
    assert [place[:29] for place in places] == ["data:application/json;base64,"]
    assert "url(" not in text
    assert "@import" not in text


def test_the_page_holds_the_numbers_behind_it(results: Results) -> None:
    (data,) = re.findall(r'href="data:application/json;base64,([^"]+)"', page(results))
    again = Results.from_dict(json.loads(base64.b64decode(data)))
    assert again.to_dict() == results.to_dict()
    assert page(again) == page(results)


def test_the_page_says_what_must_be_known(results: Results) -> None:
    text = " ".join("".join(parsed(page(results)).text).split())
    assert "1,503 people answered of 2,000 invited (75.1 %)." in text
    assert f"needs {results['pay'].needed} reports" in text
    assert f"all {results.comparisons} differences hold together" in text
    assert "Li et al. 2020" in text
    assert "Warner 1965" in text
    assert "Feldman, McMillan and Talwar (2021)" in text
    assert "Some groups are so small that these results alone may reveal as much about a " in text
    few = estimate(SURVEY, Summaries({"mood": _summaries()["mood"]}))
    assert "does not hold for the collector" in "".join(parsed(page(few)).text)


def _words(text: str) -> str:
    return " ".join("".join(parsed(text).text).split())


def test_who_did_not_answer_is_not_forgotten(results: Results) -> None:
    missing = "People who did not answer may be different, and no interval accounts for that."
    assert missing in _words(page(results))
    assert missing in _words(page(replace(results, invited=None)))
    assert missing not in _words(page(replace(results, invited=results.n)))
    assert telling.rate(100, 150) == "66.6 %"
    assert (telling.rate(9_999, 10_000), telling.rate(10_000, 10_000)) == ("99.9 %", "100.0 %")
    assert telling.rate(0, 0) == "0.0 %"


def test_a_deadline_is_no_claim_that_the_survey_closed_then() -> None:
    fields = {**SURVEY.to_dict(), "closes": "2027-01-31T18:00:00+00:00"}
    survey = Questionnaire.from_dict(fields)
    found = estimate(survey, Summaries({"mood": _summaries()["mood"]}))
    told = "The survey was set to close by 31 January 2027, 18:00 UTC; it may have been closed"
    assert told in _words(page(found))


def test_those_who_sent_a_report_are_not_all_who_were_asked() -> None:
    survey = Questionnaire.from_dict(
        {"questions": {"pay": {"low": 0, "high": 9, "epsilon": 4.0, "prefer_not_to_say": True}}}
    )
    mechanism = survey.mechanisms["pay"]
    reports = Counts.of(mechanism.simulate([3.0] * 80 + [None] * 22, seed=1))
    found = estimate(survey, Summaries({"pay": Counts(mechanism, reports.counts)}), intervals=())
    text = _words(page(found))
    assert "102 people answered this question. An estimated " in text
    assert "were asked." not in text


def test_one_comparison_alone_is_told_in_a_whole_sentence() -> None:
    """Of three groups one has enough reports; the two others have enough only together."""
    survey = Questionnaire.from_dict(
        {"groups": ["region"], "questions": {"smokes": {"categories": ["no", "yes"], "epsilon": 2}}}
    )
    mechanism = survey.mechanisms["smokes"]
    own = {
        region: Counts(mechanism, np.array([n, n]))
        for region, n in zip(REGIONS, (40, 8, 8), strict=True)
    }
    found = estimate(survey, Summaries({"smokes": Groups(("region",), own)}))
    assert found.comparisons == 1
    told = telling.compared(found)
    assert told.startswith("Only one group could be compared with everybody else; otherwise")
    assert "holds the truth in 95 % of such surveys" in told


def test_the_picture_shows_the_band_and_says_how_to_read_it() -> None:
    """Its ends in the picture are those of the band, as shares for each unit across."""
    for axis in ({"low": 0, "high": 100}, {"low": 1, "high": 1e6, "scale": "log"}):
        survey = Questionnaire.from_dict({"questions": {"pay": {**axis, "epsilon": 4.0}}})
        mechanism = survey.mechanisms["pay"]
        values = np.exp(np.random.default_rng(3).normal(3.5, 0.2, 3000))
        for n, rough in ((150, True), (3000, False)):
            reports = Counts.of(mechanism.simulate(values[:n], seed=2))
            found = estimate(survey, Summaries({"pay": Counts(mechanism, reports.counts)}))
            result = found["pay"]
            band = result.band
            assert band is not None
            assert isinstance(result.curve, CellDensity)
            text = page(found)
            assert text.count('class="band"') == 1
            assert "The true curve here is its average over each sixteenth of the scale." in _words(
                text
            )
            assert ("With so few reports" in _words(text)) is rough
            # In units of the lattice each window has a sixteenth of the scale and its own share.
            scale = Scale(axis["low"], axis["high"], "scale" in axis)
            low, high = pictures._ends(band, scale)[:, 4::8] * pictures.WIDE / 16
            edges = result.curve.edges[0]
            sums = np.interp(
                np.linspace(0, 1, 17),
                [scale.place(edge) for edge in edges],
                np.append(0, result.curve.masses.cumsum()),
            )
            shares = np.diff(sums)
            assert np.all((low <= shares + 1e-3) & (shares <= high + 1e-3))
            if n == 3000:
                # As far from the true shares as a test of so many reports leaves them.
                true = np.histogram([scale.place(one) for one in values], np.linspace(0, 1, 17))
                assert np.all((low <= true[0] / n + 0.02) & (true[0] / n - 0.02 <= high))
                assert high.sum() < 4
    quick = estimate(
        survey, Summaries({"pay": Counts(mechanism, reports.counts)}), quick=True, intervals=()
    )
    assert 'class="band"' not in page(quick)
    assert telling.banded(quick["pay"]) == ""


def test_the_number_before_an_open_end_gives_way() -> None:
    scale = Scale(0, 200_000)
    names = [pictures.labels(scale), ["0", "50,000", "100,000", "150,000", "≥ 200,000"]]
    closed, open_ended = (str(pictures.axis(scale, each)) for each in names)
    assert "150,000" in closed
    assert "150,000" not in open_ended
    # Shown on narrow screens, too.
    assert re.search(r'<span style="[^"]*">100,000</span>', open_ended)
    assert "≥ 200,000" in open_ended


def test_markdown_has_the_same_tables_and_escapes(results: Results) -> None:
    text = markdown(results)
    assert "<script" not in text.replace("\\<script", "")
    assert "Mood \\| \\`x\\`" in text
    widths = {
        line.replace("\\|", "").count("|") for line in text.splitlines() if line.startswith("| ")
    }
    assert min(widths) > 3


def test_files_by_their_endings(results: Results, tmp_path: Path) -> None:
    for ending in (".html", ".md", ".json", ".csv", ".parquet"):
        results.save(tmp_path / f"results{ending}")
    assert Results.read(tmp_path / "results.json").to_dict() == results.to_dict()
    for table in (
        pyarrow.csv.read_csv(tmp_path / "results.csv"),
        pq.read_table(tmp_path / "results.parquet"),
    ):
        assert table.num_rows == len(results.rows()) == len(results.to_frame())
        assert table.column_names == list(results.to_frame().columns)
    with pytest.raises(InvalidInput, match=r"ends in \.html or \.md"):
        results.save(tmp_path / "results.pdf")
    with pytest.raises(InvalidInput, match=r"results in a file that ends in \.json"):
        Results.read(tmp_path / "results.csv")
    (tmp_path / "counts.json").write_text("{}")
    with pytest.raises(InvalidInput, match="results written by confide in"):
        Results.read(tmp_path / "counts.json")


def test_differences_hold_together(results: Results) -> None:
    """A mean, three shares and one of two, of the two groups that have enough reports."""
    assert results.comparisons == 2 * (1 + 3 + 1)
    level = each_level(0.95, 10)
    assert level == pytest.approx(0.995)
    pay = results["pay"].groups["region"]
    (gap,) = pay["north"].differences
    groups = _summaries().groups("pay")
    own = Intervals(groups["north"]).mean(level, cut=False)
    rest = Intervals(groups.others("north")).mean(level, cut=False)
    middle = sum(own) / 2 - sum(rest) / 2
    half = np.hypot(own[1] - own[0], rest[1] - rest[0]) / 2
    assert gap.low == pytest.approx(middle - half)
    assert gap.high == pytest.approx(middle + half)
    assert gap.high < 0
    smokes = results["smokes"].groups["region"]["north"].differences
    assert [one.name for one in smokes] == ["yes"]
    assert results["mood"].groups["region"]["tiny"].differences == ()


def test_a_reader_is_told_for_the_smallest_part(results: Results) -> None:
    share = DELTA / 3
    pay = SURVEY.mechanisms["pay"]
    groups = results["pay"].groups["region"]
    for region, n in zip(REGIONS, (600, 900, 3), strict=True):
        assert groups[region].reader == shuffled(pay, n=n, delta=share)
    assert results["pay"].reader == shuffled(pay, n=3, delta=share)
    north = of_person(results, "region", "north")
    parts = [results[name].groups["region"]["north"].reader for name in results]
    assert north is not None
    assert north.epsilon == pytest.approx(sum(one.epsilon for one in parts if one))
    assert north.delta <= DELTA * (1 + 1e-9)
    # Three people hide nobody: no more is told than what each spends.
    assert of_person(results) == SURVEY.spend


def test_the_delta_of_a_reader_holds_whatever_a_person_was_asked() -> None:
    """Who is alone has no delta, and those who were asked something else have one."""
    words = {"categories": ["no", "yes"]}
    survey = Questionnaire.from_dict(
        {"ask": 1, "questions": {"a": {**words, "epsilon": 0.1}, "b": {**words, "epsilon": 1.0}}}
    )
    counts = {"a": np.array([0, 1]), "b": np.array([20_000, 20_000])}
    found = estimate(
        survey, Summaries({name: Counts(survey.mechanisms[name], counts[name]) for name in counts})
    )
    alone = shuffled(survey.mechanisms["a"], n=1, delta=DELTA)
    assert found["a"].reader == alone
    assert alone.delta == 0
    assert found["b"].reader == shuffled(survey.mechanisms["b"], n=40_000, delta=DELTA)
    spend = of_person(found)
    assert spend is not None
    assert (spend.epsilon, spend.delta) == (alone.epsilon, DELTA)
    assert "except with a probability of 0.000001 (delta)" in page(found)
    assert "A respondent spent at most epsilon = 1 in all" in page(found)


def test_a_smaller_epsilon_never_stands_without_its_delta_and_limits(results: Results) -> None:
    """The epsilons of large groups are in a table even where a small one has the whole epsilon."""
    assert of_person(results) == SURVEY.spend
    told = telling.privacy(results)
    assert min(one.spend.epsilon for one in telling.costs(results)) < SURVEY.spend.epsilon
    assert any("(delta)" in text for text in told)
    assert telling.LIMITS in told
    alone = Questionnaire.from_dict(
        {"questions": {"smokes": {"categories": ["no", "yes"], "epsilon": 1.0}}}
    )
    few = estimate(
        alone, Summaries({"smokes": Counts(alone.mechanisms["smokes"], np.array([1, 2]))})
    )
    assert telling.LIMITS not in telling.privacy(few)
    assert not any("(delta)" in text for text in telling.privacy(few))


def test_a_reader_of_two_columns_sees_their_crossing() -> None:
    survey = Questionnaire.from_dict(
        {
            "groups": ["region", "sex"],
            "questions": {"smokes": {"categories": ["no", "yes"], "epsilon": 1.0}},
        }
    )
    mechanism = survey.mechanisms["smokes"]
    sizes = {("n", "f"): 400, ("n", "m"): 90, ("s", "f"): 70, ("s", "m"): 800}
    own: dict[Any, Counts] = {
        key: Counts(mechanism, np.array([n // 2, n - n // 2])) for key, n in sizes.items()
    }
    found = estimate(survey, Summaries({"smokes": Groups(("region", "sex"), own)}))["smokes"]
    assert found.reader == shuffled(mechanism, n=70, delta=DELTA)
    assert found.groups["region"]["n"].reader == shuffled(mechanism, n=90, delta=DELTA)
    assert found.groups["sex"]["m"].reader == shuffled(mechanism, n=90, delta=DELTA)


def test_readers_of_weighted_and_simulated_results_are_promised_nothing() -> None:
    given = _summaries()
    draw = np.random.default_rng(1)
    mechanism = SURVEY.mechanisms["smokes"]
    reports = mechanism.simulate(["no"] * 500 + ["yes"] * 300, seed=1)
    weighted = Counts.of(reports, weights=draw.random(800) + 0.5)
    found = estimate(SURVEY, Summaries({"smokes": weighted}))
    assert found.weighted
    assert found.simulated
    assert found["smokes"].reader is None
    assert "simulated" in page(found)
    quick = estimate(SURVEY, given, quick=True, intervals=(), group_intervals=())
    assert quick["pay"].reader is None
    assert "these numbers will change" in page(quick)


def test_no_line_breaks_before_a_percent_sign() -> None:
    found = page(estimate(SURVEY, _summaries()))
    glance = found[found.index("At a glance") :]
    glance = glance[: glance.index("</section>")]
    shares = re.findall(
        r"<td>([^%]*) %</td>|<td>[^<]* <span class=\"held\">([\d.]+) %</span></td>", glance
    )
    assert shares
    assert all(held and not loose for loose, held in shares)


def test_raked_results_name_their_margins() -> None:
    draw = np.random.default_rng(5)
    mechanism = SURVEY.mechanisms["smokes"]
    groups = {
        key: Counts.of(mechanism.simulate(draw.choice(["no", "yes"], n), seed=n))
        for key, n in (("north", 900), ("south", 300))
    }
    raked = Groups(("region",), groups).rake({"region": {"north": 0.5, "south": 0.5}})
    found = estimate(SURVEY, Summaries({"smokes": raked}))
    assert found.weighted
    assert found.raked == ("region",)
    text = markdown(found)
    assert "known margins of region" in text
    assert "Deming and Stephan 1940" in text
    assert "Deming, W. E." in text
    again = Results.from_dict(found.to_dict())
    assert again.raked == ("region",)
    # Weights 2/3 and 2: (900 * 2/3 + 300 * 2)^2 / (900 * 4/9 + 300 * 4) = 900.
    assert again["smokes"].effective == pytest.approx(900)
    assert "Because their weights are unequal, they count as 900 people" in text
    told = markdown(replace(found, simulated=False))
    assert "weighted, so that region has the shares that are known for the population" in told
    assert "These numbers are about the people who answered" not in told
    assert "answered, weighted. People who" in markdown(
        replace(found, simulated=False, raked=(), invited=5000)
    )
    assert "effective" not in estimate(SURVEY, _summaries())["smokes"].to_dict()
    with pytest.raises(InvalidInput, match="effective"):
        Results.from_dict(
            {**found.to_dict(), "questions": [{**found["smokes"].to_dict(), "effective": -1}]}
        )
    with pytest.raises(InvalidInput, match="raked columns in weighted results"):
        Results.from_dict({**found.to_dict(), "raked": [3]})


def test_cumulative_shares_are_as_exact_as_shares() -> None:
    """Of 2,000 surveys the exact 90 % interval of a cumulative share misses at most a tenth."""
    mechanism = SURVEY.mechanisms["mood"]
    law = mechanism.law.matrix()
    truth = np.array([0.2, 0.3, 0.5])
    draws = np.random.default_rng(3).multinomial(300, law @ truth, size=2000)
    missed = 0
    for counts in draws:
        curve: Any = CategoryShares().fit(Counts(mechanism, counts))
        low, high = curve.intervals.cumulative(0.9)
        missed += not low[1] <= 0.5 <= high[1]
        assert low[2] == high[2] == 1
        alone = curve.intervals.shares(0.9)
        assert (low[0], high[0]) == pytest.approx((alone[0][0], alone[1][0]))
    # A tenth and three standard errors.
    assert 0.05 < missed / 2000 < 0.12


def test_numbers_are_rounded_to_what_intervals_support() -> None:
    one = Quantity("mean", 52_346.0, low=51_190.0, high=53_510.0)
    told = Format.of([one], 300_000)
    assert (told(one.estimate), told.range(one)) == ("52,300", "51,100 to 53,600")
    small = Quantity("mean", 0.01234, low=0.0119, high=0.0131)
    told = Format.of([small], 1)
    assert (told(small.estimate), told.range(small)) == ("0.01234", "0.01190 to 0.01310")
    assert Format(1.0).range(Quantity("median", 3, low=2.0, high=5.0)) == "2 to 5"
    assert Format(1.0)(-0.2) == "0"
    assert Percent().signed(-0.0312) == "−3.1"
    assert Percent().range(Quantity("yes", 1.0, low=0.987, high=1.0)) == "98.7 to 100.0 %"


def test_each_person_is_asked_one_question() -> None:
    survey = Questionnaire.from_dict({**SURVEY.to_dict(), "ask": 1})
    found = estimate(survey, _summaries(survey, (300, 300, 30)))
    assert found.n == 3 * 630
    assert "each of them was asked one question of 3" in page(found)
    # One question costs the whole epsilon, and nothing is added up.
    worst = max(found[name].reader.epsilon for name in found)  # type: ignore[union-attr]
    spend = of_person(found)
    assert spend is not None
    assert spend.epsilon == pytest.approx(min(worst, survey.spend.epsilon))


def test_a_value_that_many_share_is_told_and_its_spike_is_cut() -> None:
    masses = np.array([0.4, 0.3, 0.3])
    edges = np.array([0.0, 0.1, 1.0, 2.0])
    curve = CellDensity((edges,), masses, facts={"atoms": [0.0], "atom_shares": [0.35]})
    median = Quantity("median", 0.5, low=0.4, high=0.6)
    found = Results("0f", 0.95, {"x": Result("x", "number", 900, 20, (median,), curve=curve)})
    text = page(found)
    assert "shared by many people: 35.0 % at 0." in text
    (d,) = re.findall(r'class="area" d="([^"]+)"', text)
    # The spike is as high as the highest of the others, not ten times as high.
    levels = [float(level) for level in re.findall(r"V([\d.]+)H", d)]
    assert levels[0] == levels[1] == 6.0
    assert levels[2] == pytest.approx(240 - 234 * 0.9, abs=0.1)


WHOLE = Questionnaire.from_dict(
    {
        "epsilon": 8.0,
        "ask": 1,
        "questions": {
            "days": {
                "kind": "integer",
                "low": 0,
                "high": 9,
                "high_open": True,
                "prefer_not_to_say": True,
            },
            "mood": {
                "categories": ["bad", "so", "good"],
                "labels": ["Bad", "So so", "Good"],
                "ordered": True,
                "prefer_not_to_say": True,
            },
        },
    }
)


def test_whole_numbers_declined_answers_and_ordered_words_are_told() -> None:
    draw = np.random.default_rng(4)
    days: list[Any] = draw.integers(2, 5, 900).tolist() + [None] * 100
    mood: list[Any] = ["bad"] * 200 + ["so"] * 500 + ["good"] * 200 + [None] * 100
    counts = {}
    for seed, (name, answers) in enumerate((("days", days), ("mood", mood))):
        mechanism = WHOLE.mechanisms[name]
        counted = Counts.of(mechanism.simulate(answers, seed=seed)).counts
        counts[name] = Counts(mechanism, counted)
    found = estimate(WHOLE, Summaries(counts))
    result = found["days"]
    assert result.kind == "integer"
    assert (result.median(), result["median"].low, result["median"].high) == (3, 3, 3)
    for one in found.values():
        assert one.declined is not None
        assert one.declined.low is not None
        assert one.declined.high is not None
        assert one.declined.low < 0.1 < one.declined.high
    sums = found["mood"].cumulative
    rows = tables.question(found, "mood").rows
    assert [bool(row[4]) for row in rows] == [True, True, False, False]  # all, and who declined
    assert [one.name for one in sums] == ["bad", "so", "good"]
    assert sums[1].low is not None
    assert sums[1].high is not None
    # Among the 900 who did say.
    assert sums[1].low < 700 / 900 < sums[1].high
    assert (sums[2].low, sums[2].high) == (1.0, 1.0)
    again = Results.from_dict(json.loads(json.dumps(found.to_dict())))
    assert again.to_dict() == found.to_dict()
    for text in ("".join(parsed(page(again)).text), markdown(found)):
        assert "preferred not to say. All other figures are about the others" in text
        assert "Values of 9 or more count as 9. The mean is that of these capped values." in text
        assert "The median answer is So so; its interval holds no other." in text
        assert "Fieller (1954)" in text
    measures = {row["measure"] for row in found.rows()}
    assert measures == {"mean", "quantile", "share", "cumulative share", "declined"}
