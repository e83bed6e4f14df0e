"""Questions and questionnaires: what a device, a collector and an audit need of a survey."""

from __future__ import annotations

from confide.questions.partitions import Feature, PartitionSurvey
from confide.questions.question import Question
from confide.questions.questionnaire import Questionnaire

__all__ = ["Feature", "PartitionSurvey", "Question", "Questionnaire"]
