"""Measures by name: aliases, canonical names, refusals."""

import math

import ir_measures
import numpy as np
import pytest

from surefoot.effectiveness import parse_measure
from surefoot.errors import SurefootError
from surefoot.native import kernel


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("ERR@20", "ERR@20"),
        ("nDCG", "nDCG"),
        ("NDCG@10", "nDCG@10"),
        ("ndcg@10", "nDCG@10"),
        (' nDCG( dcg = "exp-log2" ) @ 20 ', "nDCG(dcg='exp-log2')@20"),
        ("nDCG(dcg='log2')@20", "nDCG@20"),
        ("nDCG(cutoff=20, dcg='exp-log2')", "nDCG(dcg='exp-log2')@20"),
        ("MAP", "AP"),
        ("AP(rel=2)@100", "AP(rel=2)@100"),
        ("AP(rel=1)", "AP"),
        ("MRR@10", "RR@10"),
        ("Precision@5", "P@5"),
        ("Recall(rel=2)@100", "R(rel=2)@100"),
        ("RBP(p=0.5)", "RBP(p=0.5)"),
        ("RBP(rel=1, p=0.5)", "RBP(p=0.5,rel=1)"),
        ("ndcg_cut_10", "nDCG@10"),
        ("map_cut_100", "AP@100"),
        ("P_10", "P@10"),
        ("recip_rank", "RR"),
        ("recall_1000", "R@1000"),
    ],
)
def test_names(text, name):
    measure = parse_measure(text)
    assert str(measure) == name
    assert parse_measure(name) == measure
    assert measure.form is not None


@pytest.mark.parametrize("text", ["Rprec", "bpref", "AP(judged_only=True)", "nDCG(gains={0: 0, 1: 5})@10"])
def test_what_is_left_to_ir_measures(text):
    assert parse_measure(text).form is None


def test_ir_measures_objects():
    assert parse_measure(ir_measures.nDCG @ 10) == parse_measure("nDCG@10")


def test_graded_and_binary_rbp_differ():
    graded, binary = parse_measure("RBP").scaled_to(3), parse_measure("RBP(rel=1)").scaled_to(3)
    assert (graded.gain, graded.scale) == ("linear", 3)
    assert (binary.gain, binary.scale) == ("binary", 1)


@pytest.mark.parametrize(("text", "grade"), [("ERR", 4), ("nDCG(dcg='exp-log2')", 62), ("nDCG", math.inf)])
def test_largest_grades(text, grade):
    assert parse_measure(text).largest_grade == grade


@pytest.mark.parametrize("text", ["Rprec", "RBP"])
def test_the_native_library_refuses_a_measure_without_a_form_or_a_scale(text):
    with pytest.raises(TypeError, match=r"measure_ranking: measure.(form|scale) must be"):
        kernel("measure_ranking")(parse_measure(text).formula, np.ones(1), np.ones(1), np.empty(1))


WAY = "write one such as nDCG@10, AP(rel=2) or nDCG(dcg='exp-log2')@20"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", f"can't read '' as a measure; {WAY}"),
        ("nDCG@", f"can't read 'nDCG@' as a measure; {WAY}"),
        ("nDCG(10)", f"can't read 'nDCG(10)' as a measure; {WAY}"),
        ("nDCG@k", f"can't read 'nDCG@k' as a measure; {WAY}"),
        ("nDCG@10 + AP", f"can't read 'nDCG@10 + AP' as a measure; {WAY}"),
        ("nDCG@10,AP", f"can't read 'nDCG@10,AP' as a measure; {WAY}; give several one by one"),
        ("nDCG(depth=3)", "nDCG has no parameter 'depth'; it has cutoff, dcg, gains, judged_only"),
        ("nDCG@0", "the cutoff of nDCG must be a whole number above 0; got 0"),
        ("nDCG@True", "the cutoff of nDCG must be a whole number above 0; got True"),
        ("nDCG@'a'", "the cutoff of nDCG must be a whole number above 0; got 'a'"),
        ("nDCG(dcg='ln')", "the dcg of nDCG must be one of 'log2', 'exp-log2'; got 'ln'"),
        ("AP(rel=1.5)", "the rel of AP must be a whole number; got 1.5"),
        ("RBP(p=1)", "the p of RBP must be a number between 0 and 1; got 1.0"),
        ("P", "P needs its cutoff, such as P@10"),
        ("SDCG@10", "SDCG needs its max_rel, such as SDCG(max_rel=10)"),
    ],
)
def test_refusals(text, message):
    with pytest.raises(SurefootError) as caught:
        parse_measure(text)
    assert str(caught.value) == message


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(SurefootError, match=r"no measure 'goodness'; there are ERR, nDCG, .* ir_measures Accuracy, "):
        parse_measure("goodness@10")
