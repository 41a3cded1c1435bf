"""What statements assume: one sentence for each kind of node, of its part, the same everywhere."""

import html
import json
import math

import pytest
from each import slow
from hypothesis import given, settings
from mechanism_strategies import examples, mechanisms

from renyi.cli import main
from renyi.matrix import BandedToeplitz, CyclicPoisson, FixedEpochs, Tree
from renyi.mechanisms import (
    Composed,
    FixedAllocation,
    FixedSizeSampled,
    Gaussian,
    Laplace,
    MatrixMechanism,
    PoissonSampled,
    RandomAllocation,
    RepeatAndSelect,
    ShuffledBatches,
    TruncatedPoissonSampled,
)
from renyi.mechanisms.assumptions import assumptions_of
from renyi.report import privacy_report

NAMES = {name: type(one).assumption.partition(":")[0] for name, one in examples.items()}
NAMES["RepeatAndSelect"] = "best of several runs"
GIVEN = {"PureDP", "ApproxDP", "ZCDP", "RDPCurve", "PrivacyLoss", "GaussianMixture"}


def names_in(node, sampled=False):
    """What is to be said of a tree, by a walk of its own."""
    kind = type(node).__name__
    if isinstance(node, Composed):
        return set().union(*(names_in(part, sampled) for part, _ in node.parts))
    if isinstance(node, FixedSizeSampled):
        own = {"with replacement" if node.replacement else "fixed size"}
        return own | names_in(node.mechanism, True)
    if isinstance(node, MatrixMechanism):
        if isinstance(node.participation, CyclicPoisson):
            how = "cyclic Poisson"
        else:
            how = "correlated noise, no sampling"
        return {NAMES[kind], how}
    if kind == "RepeatAndSelect":
        return {NAMES[kind]} | names_in(node.mechanism, sampled)
    if hasattr(node, "mechanism"):
        return {NAMES[kind]} | names_in(node.mechanism, True)
    unsampled = set() if sampled else {"as stated" if kind in GIVEN else "none"}
    return {NAMES[kind]} | unsampled


def sentences_of(mechanism, adjacency="add_remove"):
    found = assumptions_of(mechanism, adjacency)
    return [said for topic in ("sampling", "noise", "selection") for said in found.get(topic, ())]


def name_of(sentence):
    name = sentence.partition(":")[0]
    for mark in (", in ", ", within "):
        name = name.partition(mark)[0]
    return name


def test_every_mechanism_has_a_name():
    assert all(NAMES.values())
    assert len(set(NAMES.values())) == len(NAMES)


@given(mechanisms())
@settings(max_examples=50)
def test_each_kind_of_node_has_its_sentence_and_no_other_has(mechanism):
    assert {name_of(said) for said in sentences_of(mechanism)} == names_in(mechanism)
    general = assumptions_of(mechanism, "add_remove", general=True)
    said = [one for topic in ("sampling", "noise", "selection") for one in general.get(topic, ())]
    assert {name_of(one) for one in said} == names_in(mechanism)


@given(mechanisms(), mechanisms())
@settings(max_examples=30)
def test_sentences_of_a_part_name_the_part(first, second):
    released = Composed((first, 3), (second, 4))
    total = sum(count for _, count in released.parts)
    said = sentences_of(released)
    assert len(set(said)) == len(said)
    everywhere = set.intersection(
        *(
            {name_of(one) for one in sentences_of(part)}
            for part, _ in released.parts or [(first, 1)]
        )
    )
    for sentence in said:
        if f" of the {total:,} releases" not in sentence:
            assert name_of(sentence) in everywhere


def test_parts_are_counted():
    step, noise = PoissonSampled(Gaussian(1.1), 0.004), Gaussian(30.0)
    sampling = assumptions_of(step * 100 + noise * 60 + Laplace(9.0) * 40, "add_remove")["sampling"]
    assert [one.partition(":")[0] for one in sampling] == [
        "Poisson, in 100 of the 200 releases",
        "none, in 100 of the 200 releases",
    ]
    scheduled = Composed((step, 10), (PoissonSampled(Gaussian(1.2), 0.004), 5))
    (one,) = assumptions_of(scheduled, "add_remove")["sampling"]
    assert one.startswith("Poisson: each record enters each sample independently")
    nested = RandomAllocation(PoissonSampled(Laplace(2.0), 0.1), 10)
    assert [one.partition(":")[0] for one in assumptions_of(nested, "add_remove")["sampling"]] == [
        "random allocation (balls in bins)",
        "Poisson, within each sample",
    ]


CASES = [
    (PoissonSampled(Gaussian(1.1), 0.01) * 100 + Gaussian(30.0) * 100, "add_remove"),
    *slow((RandomAllocation(Gaussian(1.0), 100) * 2, "add_remove")),
    *slow((FixedAllocation(Gaussian(2.0), 20, 2), "add_remove")),
    (ShuffledBatches(Gaussian(1.0), 100), "zero_out"),
    (FixedSizeSampled(Laplace(2.0), 10, 1000), "replace_one"),
    *slow((TruncatedPoissonSampled(Gaussian(2.0), 0.01, 120, 10_000), "add_remove")),
    *slow((RepeatAndSelect(Laplace(9.0), 3, 1), "add_remove")),
    *slow((MatrixMechanism(BandedToeplitz(100, [1.0, 0.5]), 4.0, FixedEpochs(50)), "zero_out")),
    (MatrixMechanism(BandedToeplitz(100, [1.0, 0.5]), 4.0, CyclicPoisson(0.1, 2)), "add_remove"),
    *slow((MatrixMechanism(Tree(100), 8.0), "zero_out")),
]


@pytest.mark.parametrize(("mechanism", "adjacency"), CASES)
def test_account_and_report_say_the_same(tmp_path, capsys, mechanism, adjacency):
    (tmp_path / "m.json").write_text(mechanism.to_json())
    said = assumptions_of(mechanism, adjacency)
    file = ["--delta", "1e-5", "--adjacency", adjacency]
    assert main(["account", str(tmp_path / "m.json"), *file]) == 0
    account = " ".join(capsys.readouterr().out.partition("Assumes")[2].split())
    page = html.unescape(privacy_report(mechanism, delta=1e-5, adjacency=adjacency).to_html())
    for sentences in said.values():
        for sentence in sentences:
            assert sentence in account
            assert f"<p>{sentence[0].upper()}{sentence[1:]}.</p>" in page
    named = {name_of(one) for one in sentences_of(mechanism)}
    for name in {"Poisson", "shuffled", "fixed size", "none", "binary tree"} - named:
        assert f"<p>{name[0].upper()}{name[1:]}" not in page


RUN = ["--noise-multiplier", "1.1", "--batch-size", "100", "--dataset-size", "2000"]
RUN += ["--epochs", "1", "--delta", "1e-5", "--sampling"]
RUNS = {
    "poisson": (PoissonSampled(Gaussian(1.1), 0.05), 20, "add_remove"),
    "truncated-poisson": (
        TruncatedPoissonSampled(Gaussian(1.1), 0.05, 200, 2000),
        20,
        "add_remove",
    ),
    "balls-in-bins": (RandomAllocation(Gaussian(1.1), 20), 1, "add_remove"),
    "fixed-size": (FixedSizeSampled(Gaussian(1.1), 100, 2000), 20, "replace_one"),
    "shuffled": (ShuffledBatches(Gaussian(1.1), 20), 1, "zero_out"),
}


@pytest.mark.parametrize("name", ["poisson", "shuffled", *slow(*list(RUNS)[1:4])])
def test_report_takes_the_sampling_that_epsilon_takes(capsys, name):
    part, count, adjacency = RUNS[name]
    options = [*RUN, name, "--adjacency", adjacency]
    assert main(["epsilon", *options]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert main(["epsilon", *options, "--json"]) == 0
    upper = json.loads(capsys.readouterr().out)["results"][0]["epsilon_upper"]
    assert main(["report", *options]) == 0
    report = capsys.readouterr().out
    headline = report.splitlines()[2]
    assert float(headline.split()[2]) >= upper
    assert f"epsilon = {headline.split()[2]} at" in text
    assert ("proven bound" in text.partition(";")[0]) >= ("a proven upper bound" in headline)
    plain = report.replace("\\", "")
    for sentences in assumptions_of(Composed((part, count)), adjacency).values():
        for sentence in sentences:
            assert sentence in text
            assert f": {sentence[0].upper()}{sentence[1:]}." in plain


def test_a_shuffled_run_is_headlined_by_its_valid_bound(capsys):
    run = ["--noise-multiplier", "0.6", "--batch-size", "240", "--dataset-size", "60000"]
    run += ["--epochs", "2", "--delta", "1e-5", "--adjacency", "zero_out"]
    assert main(["report", *run, "--sampling", "shuffled"]) == 0
    out = capsys.readouterr().out
    bound = float(out.splitlines()[2].split()[2])
    mu = 2.0**0.5 / 0.6  # one batch twice, in the clear
    tails = [0.5 * math.erfc((bound / mu + sign * 0.5 * mu) / 2.0**0.5) for sign in (-1, 1)]
    assert 0.95e-5 < tails[0] - math.exp(bound) * tails[1] <= 1e-5
    assert "a proven upper bound" in out.splitlines()[2]
    assert "enters each sample" not in out
