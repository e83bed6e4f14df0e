"""Questions and questionnaires: the parts of a survey that devices and collectors need."""

from __future__ import annotations

from confide.questions.partitions import Feature, PartitionSurvey
from confide.questions.question import Question
from confide.questions.questionnaire import Questionnaire

__all__ = ["Feature", "PartitionSurvey", "Question", "Questionnaire"]
