"""Plans of whole surveys: exact where they can be, the inverse of themselves, and in words."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats

from confide import Counts, Groups, Question, RandomizedResponse, Summaries, Survey
from confide.errors import InvalidInput, Unsupported
from confide.estimators import CategoryShares, Likelihood
from confide.planning.guesses import guesses
from confide.planning.planner import plan
from confide.planning.survey_plans import SurveyPlan, plan_survey
from confide.results import estimate, needed

KEYS = {
    "pay": {"low": 0, "high": 100, "size": 64, "epsilon": 1.0},
    "age": {"low": 18, "high": 68, "size": 50, "epsilon": 1.0},
    "smokes": {"categories": ["no", "yes"], "epsilon": 1.0},
}
SURVEY = Survey.from_dict({"groups": ["region"], "questions": KEYS})
Z = stats.norm.ppf(0.975)


@pytest.fixture(scope="module")
def made() -> SurveyPlan:
    return plan_survey(
        SURVEY, n=6000, by={"region": 4}, target={"pay.mean": 2.0}, surveys=8, guesses=GUESSES
    )


GUESSES = {"smokes": {"no": 0.8, "yes": 0.2}}


def test_every_question_has_its_errors(made):
    assert [(row.question, row.quantity) for row in made.rows] == [
        ("pay", "mean"),
        ("pay", "median"),
        ("age", "mean"),
        ("age", "median"),
        ("smokes", "no"),
        ("smokes", "yes"),
    ]
    assert all(row.error > row.sampling > 0 for row in made.rows)
    assert {row.n for row in made.rows} == {6000}
    assert [row.standard_error > 0 for row in made.rows] == [False, True, False, True, False, False]


def test_shares_follow_from_the_law(made):
    # A report is "yes" with chance c = 1/(E + 1) + (E - 1)/(E + 1) share, E = e**epsilon.
    grown = math.e
    chance = 1 / (grown + 1) + (grown - 1) / (grown + 1) * 0.2
    spread = math.sqrt(chance * (1 - chance)) * (grown + 1) / (grown - 1)
    assert made.row("smokes", "yes").error == pytest.approx(Z * spread / math.sqrt(6000))
    assert made.row("smokes", "yes").sampling == pytest.approx(Z * math.sqrt(0.16 / 6000))


def test_fewer_questions_have_fewer_answers_with_a_larger_epsilon():
    one = plan_survey(SURVEY, n=6000, ask=1, surveys=0, guesses=GUESSES)
    row = one.row("smokes", "yes")
    assert (row.n, row.epsilon) == (2000, pytest.approx(3.0))
    alone = Survey({"smokes": Question(RandomizedResponse(["no", "yes"], epsilon=3.0))})
    same = plan_survey(alone, n=2000, guesses=GUESSES).row("smokes", "yes")
    assert row.error == pytest.approx(same.error)
    # As the survey itself says it.
    free = {name: {k: v for k, v in keys.items() if k != "epsilon"} for name, keys in KEYS.items()}
    asking = Survey.from_dict({"epsilon": 3.0, "ask": 1, "questions": free})
    said = plan_survey(asking, n=6000, surveys=0, guesses=GUESSES)
    assert said.row("smokes", "yes").error == pytest.approx(row.error)
    assert (said.ask, said.epsilon) == (1, 3.0)
    assert "each asked 1 of 3 questions" in " ".join(said.words())
    assert "Asking each person 1 of the 3 questions, as planned, is best" in " ".join(said.words())


def test_proportions_of_epsilons_stay():
    keys = {**KEYS, "pay": KEYS["pay"] | {"epsilon": 2.0}}
    survey = Survey.from_dict({"questions": keys})
    two = plan_survey(survey, n=300, ask=2, surveys=0)
    spent = {row.question: row.epsilon for row in two.rows}
    # Whoever is asked for pay and one more spends 4 in all; nobody spends more.
    assert spent == {
        "pay": pytest.approx(8 / 3),
        "age": pytest.approx(4 / 3),
        "smokes": pytest.approx(4 / 3),
    }


@pytest.mark.parametrize(("epsilon", "best"), [(1.0, 1), (30.0, 3)])
def test_what_to_ask_depends_on_epsilon(epsilon, best):
    found = plan_survey(SURVEY, n=6000, epsilon=epsilon, surveys=0)
    assert [design.ask for design in found.designs] == [3, 2, 1]
    assert found.recommended.ask == best
    assert found.designs[0].relative == pytest.approx(1)
    words = " ".join(found.words())
    if best == 1:
        assert "Ask each person 1 of the 3 questions" in words
        assert found.designs[-1].relative < 0.7
    else:
        assert "Asking each person all questions, as planned, is best" in words
    for design in found.designs:
        own = plan_survey(SURVEY, n=6000, epsilon=epsilon, ask=design.ask, surveys=0)
        assert design.errors["pay"] == pytest.approx(own.row("pay", "mean").error)


def test_a_target_alone_finds_n():
    found = plan_survey(SURVEY, target={"pay.mean": 2.0, "smokes.yes": 0.01}, surveys=0)
    needed = [each.by_n.n for each in found.answers]
    assert found.n == max(needed)
    for (question, quantity, target), n in zip(
        (("pay", "mean", 2.0), ("smokes", "yes", 0.01)), needed, strict=True
    ):
        reached, missed = (
            plan_survey(SURVEY, n=many, surveys=0).row(question, quantity).error
            for many in (n, n - 1)
        )
        assert reached <= target * (1 + 1e-9)
        assert missed > target * (1 - 1e-9)


def test_both_ways_to_a_target(made):
    (answers,) = made.answers
    assert answers.by_n == made.n_for("pay.mean", 2.0)
    assert answers.by_epsilon == made.epsilon_for("pay.mean", 2.0)
    again = plan_survey(SURVEY, n=6000, epsilon=answers.by_epsilon.epsilon, surveys=0)
    assert again.row("pay", "mean").error == pytest.approx(2.0, rel=1e-3)
    median = made.row("pay", "median").error
    assert made.n_for("pay.median", median).n == pytest.approx(6000, rel=0.35)


def test_the_smallest_epsilon_where_a_larger_one_is_worse():
    """With few cells the plateau loses one at a time, and the error goes up and down."""
    survey = Survey.from_dict(
        {"questions": {"drinks": {"kind": "integer", "low": 0, "high": 30, "epsilon": 2.0}}}
    )
    errors = {
        epsilon: plan_survey(survey, n=1000, epsilon=epsilon, surveys=0).row("drinks", "mean").error
        for epsilon in np.geomspace(1, 4, 200).tolist()
    }
    assert any(np.diff(list(errors.values())) > 0)
    target = 1.0
    least = min(epsilon for epsilon, error in errors.items() if error <= target)
    made = plan_survey(survey, n=1000, target={"drinks.mean": target}, surveys=0)
    assert made.answers[0].by_epsilon.epsilon == pytest.approx(least, rel=0.01)
    alone = plan(n=1000, low=-0.5, high=30.5, size=31, target=target, metric="mean", surveys=2)
    assert alone.answer.epsilon < 2


def test_the_plan_says_whether_its_respondents_are_enough():
    def verdict(**target: float) -> str:
        named = {name.replace("_", "."): error for name, error in target.items()}
        return plan_survey(SURVEY, n=6000, target=named, surveys=0).words()[0]

    assert verdict(pay_mean=4.0) == "Enough: 6,000 respondents at epsilon 3 reach pay.mean = 4."
    assert verdict(pay_mean=0.5, age_mean=0.5, smokes_yes=0.2) == (
        "Not enough: 6,000 respondents at epsilon 3 do not reach pay.mean = 0.5 or age.mean = 0.5. "
        "They reach smokes.yes = 0.2."
    )
    alone = plan_survey(SURVEY, target={"pay.mean": 4.0}, surveys=0)
    assert alone.words()[0].startswith("For pay.mean = 4 at epsilon=3")


def test_targets_out_of_reach():
    with pytest.raises(InvalidInput, match="even with 1,000,000,000 respondents, the least error"):
        plan_survey(SURVEY, target={"pay.mean": 1e-9}, surveys=0)
    wide = {"pay": np.linspace(0, 200, 1001)}
    with pytest.raises(InvalidInput, match=r"clipped to the bounds, .* pay\.mean is 2"):
        plan_survey(SURVEY, target={"pay.mean": 10.0}, guesses=wide, surveys=0)
    far = plan_survey(SURVEY, n=100, target={"pay.mean": 0.5}, surveys=0)
    assert far.answers[0].by_epsilon is None
    assert "With 100 respondents, even at epsilon=48, the least error of pay.mean is" in " ".join(
        far.words()
    )


def test_differences_against_the_textbook(made):
    row = made.row("pay", "mean")
    (found,) = [one for one in made.differences if one.question == "pay"]
    assert (found.by, found.groups, found.n) == ("region", 4, 1500)
    error = row.error / Z * math.sqrt(4 + 4)
    assert found.difference == pytest.approx((Z + stats.norm.ppf(0.8)) * error)
    # Results mark 4 regions against the rest, in three questions.
    corrected = stats.norm.ppf(1 - 0.025 / 12) + stats.norm.ppf(0.8)
    apart = row.error / Z * math.sqrt(4 + 4 / 3)
    assert found.in_results == pytest.approx(corrected * apart)
    n = made.n_for("pay.mean.region", found.difference / 2).n
    assert n == pytest.approx(4 * 6000, abs=2)


def test_the_smallest_groups_decide():
    shares = {"region": {"north": 700, "south": 200, "west": 100}}
    found = plan_survey(SURVEY, n=6000, by=shares, surveys=0).differences[0]
    even = plan_survey(SURVEY, n=6000, by={"region": 2}, surveys=0).differences[0]
    assert found.n == 600
    assert found.difference / even.difference == pytest.approx(math.sqrt((10 + 5) / 4))


def test_rounds_may_be_compared_beside_other_groups():
    (found, *_) = plan_survey(SURVEY, n=6000, by={"round": 3}, surveys=0).differences
    assert (found.by, found.groups, found.n) == ("round", 3, 2000)


def test_comparisons_are_those_of_the_results():
    # The survey's own results, of answers that do not matter, count the same comparisons.
    keys = {**KEYS, "party": {"categories": ["a", "b", "c"], "epsilon": 1.0}}
    survey = Survey.from_dict({"groups": ["region"], "questions": keys})
    questions = {}
    for name, mechanism in survey.mechanisms.items():
        shares = mechanism.law.forward(np.full(mechanism.law.inputs, 1 / mechanism.law.inputs[0]))
        counts = Counts(mechanism, (1500 * shares).astype(np.int64), simulated=True)
        questions[name] = Groups(("region",), dict.fromkeys("nesw", counts))
    results = estimate(survey, Summaries(questions), intervals=("mean",))
    assert results.comparisons == 4 * (1 + 1 + 1 + 3)
    marked = plan_survey(survey, n=6000, by={"region": 4}, surveys=0).scenario.marked("region")
    tail = 0.025 / results.comparisons
    wanted = stats.norm.ppf(1 - tail) + stats.norm.ppf(0.8)
    assert marked == pytest.approx(wanted * math.sqrt(4 + 4 / 3))


def test_groups_that_results_leave_out_are_named():
    found = plan_survey(SURVEY, n=400, by={"region": 4}, surveys=0)
    words = " ".join(found.words())
    assert "Results will show nothing of pay in the smallest group by region" in words
    assert "it will have 100 reports" in words


def test_questions_that_results_leave_out_are_named():
    few = plan_survey(SURVEY, n=120, by={"region": 2}, surveys=0)
    least = needed(SURVEY.mechanisms["pay"])
    assert few.needed == {name: needed(each) for name, each in SURVEY.mechanisms.items()}
    words = few.words()
    (line,) = [line for line in words if line.startswith("Too few reports: ")]
    assert f"results will show nothing of pay (120 reports, {least} are needed), age" in line
    # Said once for everybody, and not again for the groups.
    again = [line for line in words if "in the smallest group by region" in line]
    assert [line.partition(" in the")[0] for line in again] == [
        "Results will show nothing of smokes"
    ]
    assert SurveyPlan.from_dict(json.loads(json.dumps(few.to_dict()))).words() == words
    # A plan that was written before it had this key says nothing about it.
    old = {key: value for key, value in few.to_dict().items() if key != "needed"}
    assert not SurveyPlan.from_dict(old).needed
    enough = plan_survey(SURVEY, n=least, surveys=0)
    assert "Too few reports" not in " ".join(enough.words())


def test_a_question_that_few_are_asked_is_named():
    questions = {
        name: {key: value for key, value in keys.items() if key != "epsilon"}
        for name, keys in KEYS.items()
    }
    survey = Survey.from_dict({"epsilon": 1.0, "ask": 1, "questions": questions})
    few, enough = (plan_survey(survey, n=n, surveys=0) for n in (300, 600))
    assert "pay (100 reports, 133 are needed)" in " ".join(few.words())
    assert "Too few reports" not in " ".join(enough.words())


def test_shares_of_many_points_are_plain_numbers():
    found = plan_survey(SURVEY, n=50, by={"region": 4}, surveys=0)
    words = " ".join(found.words())
    assert "e+02" not in words
    assert "shares of smokes 120 percentage points" in words


def test_a_difference_shows_in_four_of_five_surveys(made):
    # Held: two groups whose shares differ by what is detectable; the interval leaves out zero.
    (found,) = [one for one in made.differences if one.quantity == "yes"]
    mechanism = SURVEY.mechanisms["smokes"]
    generator = np.random.default_rng(4)
    shown = 0
    for seed in range(400):
        shares = []
        for group, share in enumerate((0.2 - found.difference / 2, 0.2 + found.difference / 2)):
            answers = np.where(generator.random(found.n) < share, "yes", "no")
            counts = Counts.of(mechanism.simulate(answers.tolist(), seed=2 * seed + group))
            shares.append(CategoryShares().fit(counts))
        ends = [one.interval("yes") for one in shares]
        halves = [(high - low) / 2 for low, high in ends]
        shown += abs(shares[1].share("yes") - shares[0].share("yes")) > math.hypot(*halves)
    assert shown / 400 == pytest.approx(0.8, abs=4 * math.sqrt(0.16 / 400))


def test_means_are_as_planned(made):
    mechanism = SURVEY.mechanisms["age"]
    population = guesses(SURVEY, {})["age"].population
    generator = np.random.default_rng(5)
    means = []
    for seed in range(200):
        values = generator.choice(population.points, 1000, p=population.weights)
        density = Likelihood(size=4, smoothing=0.5).fit(
            Counts.of(mechanism.simulate(values, seed=seed))
        )
        means.append(sum(density.interval("mean")) / 2)
    planned = plan_survey(SURVEY, n=1000, surveys=0).row("age", "mean").error
    assert Z * np.std(means) == pytest.approx(planned, rel=4 / math.sqrt(400))


def test_guesses_have_defaults_and_can_be_overridden():
    found = guesses(SURVEY, {})
    assert found["pay"].words == "lognormal over 0 to 100"
    assert found["age"].words == "normal over 18 to 68"
    assert found["smokes"].words == "equal shares of 2 categories"
    told = {"pay": "beta:10..50", "age": [20, 30, 30, 40], "smokes": "no:3,yes:1"}
    other = guesses(SURVEY, told)
    assert 10 <= other["pay"].population.points.min() < other["pay"].population.points.max() <= 50
    assert other["age"].population.quantile(0.5) == 30
    assert other["smokes"].shares == pytest.approx([0.75, 0.25])
    logs = {"x": {"low": 1, "high": 10_000, "scale": "log", "epsilon": 1.0}}
    log = guesses(Survey.from_dict({"questions": logs}), {})["x"]
    assert log.population.quantile(0.5) == pytest.approx(100, rel=0.01)


OPEN = {
    "days": {"kind": "integer", "low": 0, "high": 12, "epsilon": 2.0, "prefer_not_to_say": True},
    "pay": {"low": 0, "high": 1, "size": 32, "epsilon": 2.0, "prefer_not_to_say": True},
    "drinks": {"categories": ["no", "yes", "often"], "epsilon": 2.0, "prefer_not_to_say": True},
}


def test_those_who_decline_and_whole_numbers():
    survey = Survey.from_dict({"questions": OPEN})
    told = {"days.declined": 0.3, "pay.declined": 0.3, "drinks.declined": 0.3}
    told |= {"drinks": [0.5, 0.3, 0.2]}
    planned = plan_survey(survey, n=2000, guesses=told, surveys=0)
    chosen = guesses(survey, told)
    days = chosen["days"].population
    assert set(days.points) <= set(range(13))
    assert chosen["days"].words == "lognormal over 0 to 12, whole numbers, 30 % prefer not to say"
    assert [row.kind for row in planned.rows[:4]] == ["integer", "integer", "number", "number"]
    generator = np.random.default_rng(6)
    errors: dict[tuple[str, str], list[float]] = {}
    for seed in range(150):
        declined = generator.random(2000) < 0.3
        drawn = {
            "days": generator.choice(days.points, 2000, p=days.weights),
            "pay": generator.choice(
                chosen["pay"].population.points, 2000, p=chosen["pay"].population.weights
            ),
            "drinks": generator.choice(["no", "yes", "often"], 2000, p=[0.5, 0.3, 0.2]),
        }
        for name, values in drawn.items():
            answers = [
                None if no else one for no, one in zip(declined, values.tolist(), strict=True)
            ]
            counts = Counts.of(survey.mechanisms[name].simulate(answers, seed=seed))
            if name == "drinks":
                curve = CategoryShares().fit(counts)
                found = {"no": curve.share("no") - 0.5, "often": curve.share("often") - 0.2}
            else:
                curve = Likelihood(size=4, smoothing=0.5).fit(counts)
                truth = chosen[name].population.mean
                found = {"mean": sum(curve.interval("mean")) / 2 - truth}
            found["declined"] = curve.declined - 0.3
            for quantity, error in found.items():
                errors.setdefault((name, quantity), []).append(error)
    assert len(errors) == 7
    for (name, quantity), off in errors.items():
        held = Z * math.sqrt(np.mean(np.square(off)))
        # Four standard errors of a root mean square of 150.
        expected = planned.row(name, quantity).error
        assert held == pytest.approx(expected, rel=4 / math.sqrt(300)), (name, quantity)


def test_medians_of_whole_numbers_are_simulated():
    survey = Survey.from_dict({"questions": {"days": OPEN["days"] | {"high": 60}}})
    row = plan_survey(survey, n=2000, surveys=8).row("days", "median")
    assert row.error > row.sampling
    assert row.standard_error > 0


def test_plans_in_words(made):
    words = made.words()
    assert words[0].startswith("Not enough: 6,000 respondents at epsilon 3 do not reach pay.mean")
    assert words[1].startswith("For pay.mean = 2 at epsilon=3: about")
    assert "epsilon 3 for each of them in all" in words[3]
    text = " ".join(words)
    assert "mean of pay ±" in text
    assert "shares of smokes ± 2.6 percentage points" in text
    assert "Differences between two of 4 groups by region that 80 % of surveys will show" in text
    assert "smokes: no 80 %, yes 20 %" in text
    weak = " ".join(plan_survey(SURVEY, n=30, surveys=0).words())
    assert "Too uncertain to be of use" in weak


def test_plans_come_back_from_json(made):
    again = SurveyPlan.from_dict(json.loads(json.dumps(made.to_dict(), allow_nan=False)))
    assert again.to_dict() == made.to_dict()
    assert again.words() == made.words()
    assert repr(again) == repr(made)
    with pytest.raises(Unsupported, match="read from JSON"):
        again.n_for("pay.mean", 1.0)
    with pytest.raises(InvalidInput, match="a plan of a survey"):
        SurveyPlan.from_dict({**made.to_dict(), "rows": []})


def test_plans_as_tables_and_pictures(made):
    table = made.to_frame()
    assert list(table["question"]) == [row.question for row in made.rows]
    grid = made.map()
    assert (grid.name, grid.target) == ("pay.mean", 2.0)
    assert (np.diff(grid.errors, axis=1) < 0).all()
    at = np.argmin(np.abs(grid.epsilon - made.epsilon))
    near = np.interp(np.log(made.n), np.log(grid.n), grid.errors[at])
    assert near == pytest.approx(made.row("pay", "mean").error, rel=0.1)
    pytest.importorskip("matplotlib")
    assert made.plot().ax_.get_title() == "expected error of pay.mean"
    assert "<svg" in made._repr_html_()


def test_the_survey_has_the_verb():
    assert SURVEY.plan(target={"smokes.yes": 0.1}).n < 6000


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({}, "Expected n, a target, or both, got neither."),
        ({"n": 0}, "Expected a whole number n from 1"),
        ({"n": 10, "ask": 4}, "Expected a whole number ask from 1 to 3, got ask=4."),
        ({"target": {"pay.men": 1}}, "Did you mean 'pay.mean'?"),
        ({"target": {"pay.mean": -1}}, "Expected target > 0"),
        ({"n": 10, "by": {"regio": 2}}, "Did you mean 'region'?"),
        ({"n": 10, "by": {"pay": 2}}, "got the question 'pay'"),
        ({"n": 10, "by": {"region": 1}}, "Expected a whole number region from 2"),
        ({"n": 10, "by": {"region": [0.5, 0]}}, "each with people in it"),
        ({"n": 10, "guesses": {"pya": "beta"}}, "Did you mean 'pay'?"),
        ({"n": 10, "guesses": {"pay": "bet"}}, "Did you mean 'beta'?"),
        ({"n": 10, "guesses": {"pay": "beta:5"}}, "NAME:LOW..HIGH"),
        ({"n": 10, "guesses": {"smokes": [1, 2, 3]}}, "Expected 2 shares, one a category"),
        ({"n": 10, "guesses": {"smokes": {"maybe": 1}}}, "Known: no, yes."),
        ({"n": 10, "guesses": {"pay.declined": 0.1}}, "Expected prefer_not_to_say = true"),
        ({"n": 10, "level": 95}, "For 95 % write level=0.95."),
    ],
)
def test_bad_input(wrong, sentence):
    with pytest.raises(InvalidInput) as error:
        plan_survey(SURVEY, surveys=0, **wrong)
    assert sentence in str(error.value)


def test_a_share_is_no_number_of_points():
    survey = Survey.from_dict(
        {"questions": {"mood": {"categories": ["low", "high"], "epsilon": 1.0}}}
    )
    with pytest.raises(InvalidInput, match=r"below 1 for the share mood.low.*write 0.02 for 2"):
        plan_survey(survey, target={"mood.low": 2})
    assert plan_survey(survey, target={"mood.low": 0.05}).n > 500
