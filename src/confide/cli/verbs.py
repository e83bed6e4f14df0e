"""Table of all commands with their module and help text. Add a new command here."""

from __future__ import annotations

VERBS = {
    "demo": (
        "demo",
        "Privatize the pay of a made-up company, estimate its density, and compare with the truth.",
    ),
    "serve": (
        "serve",
        "Serve a survey: a page where people answer, and a dashboard for you.",
    ),
    "schedule": (
        "schedule",
        "Draw in which rounds, or in which phase, each person is asked. Run it once, beforehand.",
    ),
    "invite": ("invite", "Make one invitation for each person, and write their links into a file."),
    "export": ("export", "Write the reports of a survey into a file, in random order."),
    "answer": (
        "answer",
        "Answer a survey on the terminal: noise is added here, and only noisy reports are sent.",
    ),
    "verify": (
        "answer",
        "Compare every file that a collector serves with this package, and its survey with a file.",
    ),
    "privatize": (
        "privatize",
        "Turn values into private reports in random order, with the system's secure randomness.",
    ),
    "summarize": (
        "summarize",
        "Count reports into a small file that has everything an estimate needs.",
    ),
    "merge": ("summarize", "Add up summaries of the same questions by the same mechanisms."),
    "phase": (
        "phase",
        "Make the survey of the second phase, or put the summaries of both phases together.",
    ),
    "density": (
        "estimate",
        "Estimate the density of a number, with its mean and quantiles and their intervals.",
    ),
    "shares": ("estimate", "Estimate the shares of categories from randomized responses."),
    "results": (
        "results",
        "Write the results of a whole survey: every question, every group, privacy and methods.",
    ),
    "compare": (
        "compare",
        "Compare two groups of respondents, with an interval for the difference.",
    ),
    "trend": ("trend", "Estimate how a mean or a share changes from round to round."),
    "regress": (
        "regress",
        "Estimate the mean of a response given a private answer, with its uncertainty.",
    ),
    "classify": (
        "regress",
        "Estimate which of two classes is more likely given a private answer.",
    ),
    "relate": ("relate", "Estimate how the answers to pairs of questions are related."),
    "synthesize": (
        "synthesize",
        "Draw synthetic respondents with an answer to every question, at no further privacy cost.",
    ),
    "release": (
        "release",
        "Publish statistics about raw values, with noise, under a budget.",
    ),
    "sample": ("sample", "Release a few synthetic records of a data set; each costs epsilon."),
    "plan": (
        "plan",
        "Estimate the error of a survey before it runs, or find the people or epsilon it needs.",
    ),
    "audit": ("audit", "Check that every question of a survey keeps the epsilon that it claims."),
    "ledger": ("ledger", "Show what was released about a data set, and the budget that is left."),
    "design": ("design", "Choose the noise before collecting."),
}
"""The verbs in the order of their help: the module of each, and what it does."""
EXAMPLES = {
    "serve": "confide serve survey.toml",
    "invite": "confide invite survey.toml -n 500 --url https://survey.example.org -o links.csv",
    "export": "confide export survey.toml -o reports.parquet",
    "answer": "confide answer https://survey.example.org/#...",
    "verify": "confide verify https://survey.example.org survey.toml",
    "privatize": "confide privatize survey.toml values.csv -o reports.parquet",
    "summarize": "confide summarize survey.toml reports.parquet -o counts.json",
    "merge": "confide merge a.json b.json -o all.json",
    "results": "confide results survey.toml reports.parquet --by region -o results.html",
    "relate": "confide relate survey.toml reports.parquet",
    "synthesize": "confide synthesize survey.toml counts.json -n 10000 -o rows.csv",
    "plan": "confide plan --n 5000 --epsilon 1 --low 0 --high 300000",
    "release": "confide release histogram values.csv --column x --low 0 --high 1 --epsilon 1",
    "audit": "confide audit survey.toml",
    "sample": "confide sample records.csv --column x --reference box --low 0 --high 1 --epsilon 1",
}
