"""Generalised randomized response with the estimator by matrix inversion."""

from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
from shares import ANSWERS, EPSILON, SIZE, error
from timing import best, tell


def shares(answers):
    reports = [GRR_Client(answer, SIZE, EPSILON) for answer in answers]
    return GRR_Aggregator_MI(reports, SIZE, EPSILON)


shares(ANSWERS[0][:100])
seconds = best(lambda: shares(ANSWERS[0]), rounds=2)
tell("multi-freq-ldpy", seconds, error([shares(answers) for answers in ANSWERS]))
