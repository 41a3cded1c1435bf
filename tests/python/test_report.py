"""Reports: what they say is what the accountants do; their pages, their data, JSON Schemas."""

from __future__ import annotations

import datetime
import html
import json
import re
import shlex
import subprocess
import sys
from decimal import Decimal
from html.parser import HTMLParser

import pytest
from each import slow

from renyi import (
    ZCDP,
    ApproxDP,
    Composed,
    Gaussian,
    Laplace,
    Ledger,
    MatrixMechanism,
    PLDAccountant,
    PoissonSampled,
    PureDP,
    RDPAccountant,
    RDPCurve,
    ShuffledBatches,
)
from renyi._validation import visible
from renyi.cli import main
from renyi.matrix import Tree
from renyi.mechanisms import Mechanism
from renyi.report import Disclosure, dataset_report, json_schema, privacy_report

STEP = PoissonSampled(Gaussian(1.1), 0.004)
RUN = ["--noise-multiplier", "1.1", "--batch-size", "240", "--dataset-size", "60000"]


class Page(HTMLParser):
    """Checks that elements close as they were opened, and takes note of what would be fetched."""

    def __init__(self, text):
        super().__init__()
        self.open, self.text, self.fetched = [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.fetched += [value for name, value in attributes if name in ("src", "href")]
        if tag not in ("meta",):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_numbers_are_those_of_the_accountants_rounded_up():
    text = privacy_report(STEP, 15_000, delta=1e-5).to_markdown()
    for name, accountant in ("exact curve", PLDAccountant()), ("Rényi-DP", RDPAccountant()):
        accountant.compose(STEP, 15_000)
        row = next(line for line in text.splitlines() if line.startswith(f"| {name} "))
        shown, low, high = row.strip("| ").split(" | ")[1:]
        assert accountant.get_epsilon_bounds(1e-5) == (float(low), float(high))
        assert Decimal(0) <= Decimal(shown) - Decimal(float(high)) < Decimal("1e-3")
    caught = float(re.search(r"catches at most ([\d.]+) %", text)[1])
    exact = 100.0 * (1.0 - PLDAccountant().compose(STEP, 15_000).get_beta(0.01))
    assert exact <= caught < exact + 0.01


def test_tables_of_curves_are_bounds():
    text = privacy_report(STEP, 100, delta=1e-5).to_markdown()
    rows = re.findall(r"^\| ([\d.e-]+) \| ([\d.e-]+) \| ([\d.e-]+) \|$", text, re.MULTILINE)
    exact = PLDAccountant().compose(STEP, 100)
    deltas = [row for row in rows if Decimal(row[1]) < Decimal(1) and Decimal(row[0]) < 3]
    assert len(deltas) >= 5
    for epsilon, delta, _ in deltas[:6]:
        assert Decimal(delta) >= Decimal(exact.get_delta(float(epsilon))) * Decimal("0.9999")


@pytest.mark.parametrize(
    ("mechanism", "count", "adjacency"),
    [
        (STEP, 15_000, "add_remove"),
        (Laplace(5.0), 3, "replace_one"),
        (ZCDP(0.1), 1, "add_remove"),
        *slow((ShuffledBatches(Gaussian(2.0), 10), 5, "zero_out")),
        *slow((Gaussian(3.0) * 2 + Laplace(9.0), 2, "add_remove")),
        (Composed(), 1, "add_remove"),
        (Gaussian(0.0), 2, "add_remove"),
    ],
)
def test_the_page_needs_nothing_else(mechanism, count, adjacency):
    made = privacy_report(mechanism, count, delta=1e-6, adjacency=adjacency, title="A & B <i>")
    text = made.to_html()
    page = Page(text)
    assert "http" not in text
    assert page.fetched == []
    assert "nan" not in text
    assert made.headline in page.text
    assert text.count("<table") == text.count('<div class="wide"><table>') > 0  # narrow screens
    assert ".wide { overflow-x: auto; }" in text
    assert text.count("<svg") >= 2
    assert "A &amp; B &lt;i&gt;" in text


def test_without_matplotlib_a_page_has_tables_for_figures(monkeypatch):
    made = privacy_report(STEP, 100, delta=1e-5)
    monkeypatch.setattr("renyi.report._written.find_spec", lambda name: None)
    text = made.to_html()
    Page(text)
    assert "<svg" not in text
    assert "<th>δ, exact curve</th>" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"delta": 1e-4, "records": 60_000}, "not below 1/60000"),
        ({"delta": 5e-6, "records": 60_000}, "above a tenth of 1/60000"),
        ({"delta": 1e-3}, "is large unless there are few records"),
    ],
)
def test_warnings(arguments, words):
    plain = Gaussian(9.0)
    assert words in privacy_report(plain, **arguments).to_markdown()
    assert "## Warnings" not in privacy_report(plain, delta=1e-7, records=60_000).to_markdown()


def test_a_data_set_with_all_that_was_recorded(tmp_path):
    with Ledger(tmp_path / "privacy.db") as ledger:
        ledger.create("census", epsilon=1.0, delta=1e-6)
        ledger.charge("census", Gaussian(40.0), 3)
        ledger.settle("census", ledger.reserve("census", Gaussian(30.0), 9), 2)
        ledger.reserve("census", Gaussian(50.0), 4)
        made = dataset_report(ledger, "census")
        spent = Gaussian(40.0) * 3 + Gaussian(30.0) * 2 + Gaussian(50.0) * 4
        assert made.headline == "Within ε = 1, δ = 1e-6"
        assert (
            f"beforehand, {privacy_report(spent, delta=1e-6).headline}. It is no"
            in made.to_markdown()
        )
        assert ledger.status("census").head in made.to_markdown()


def test_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = ["report", *RUN, "--steps", "1500", "--delta", "1e-5"]
    assert main([*run, "--html", "r.html", "--markdown", "r.md"]) == 0
    assert capsys.readouterr().out.splitlines()[1].endswith(": r.md")
    assert main(run) == 0
    assert capsys.readouterr().out == (tmp_path / "r.md").read_text(encoding="utf-8")
    (tmp_path / "m.json").write_text(json.dumps({"version": 1, **Gaussian(5.0).to_dict()}))
    assert main(["report", "--mechanism", "m.json", "--count", "10", "--delta", "1e-5"]) == 0
    assert "**ε = 2.595 at δ = 1e-5**" in capsys.readouterr().out
    tree = MatrixMechanism(Tree(8), 2.0).to_json()
    (tmp_path / "tree.json").write_text(tree, encoding="utf-8")
    for line, words in [
        (["report", "--mechanism", "tree.json", "--delta", "1e-5"], "'zero_out' only"),
        (["report", "--delta", "1e-5"], "--noise-multiplier is required"),
        ([*run[:-1], "1e-5,1e-6"], "--delta must be one number"),
        ([*run, "--count", "2"], "--count needs --mechanism"),
        ([*run, "--html", "a", "--markdown", "a"], "must be two files, got a"),
        (["report", "--ledger", "none.db", "--count", "2"], "--ledger excludes --count"),
        (["report", "--ledger", "none.db"], "--ledger needs --dataset"),
        (["report", "--ledger", "none.db", "--dataset", "a"], "ledger must exist"),
        (
            ["report", "--mechanism", "m.json", "--steps", "1", "--delta", "1e-5"],
            "excludes --steps",
        ),
    ]:
        assert main(line) == 2
        assert words in capsys.readouterr().err
    assert main([*run, "--html", "no/r.html"]) == 4
    assert "no/r.html" in capsys.readouterr().err


HOSTILE = "a\x1b[2J|b\n# c <script>*d* [e](http://f) \u202eg"


def test_text_of_others_does_nothing_to_terminals_pages_or_markdown(tmp_path):
    with Ledger(tmp_path / "privacy.db") as ledger:
        ledger.create("census", epsilon=1.0, delta=1e-6, note=HOSTILE)
        ledger.charge("census", Gaussian(40.0), note=HOSTILE)
        made = dataset_report(
            ledger, "census", title=HOSTILE, author=HOSTILE, date="2026-01-02", queries=[HOSTILE]
        )
    markdown, page = made.to_markdown(), made.to_html()
    for text in markdown, page:
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert "<script>" not in page
    assert html.escape(visible(HOSTILE)) in page
    assert Page(page).fetched == []
    shown = re.findall(r"a\\\\x1b\\\[2J\\\|b.*", markdown)
    assert len(shown) == 5  # title, author, query and two notes: none of them breaks its line
    for line in shown:
        assert not re.search(r"(?<!\\)[*\[\]<>#]", line.partition(" |")[0].removesuffix("|"))
    cells = [line for line in markdown.splitlines() if " UTC |" in line]
    assert [len(re.findall(r"(?<!\\)\|", line)) for line in cells] == [6, 6]


def test_what_is_told_of_a_report_is_in_it_and_nothing_unasked():
    told = {
        "date": datetime.date(2026, 11, 24),
        "author": "Jane Doe",
        "dataset": "census",
        "queries": ["median income", "households"],
    }
    made = privacy_report(Gaussian(5.0), delta=1e-6, **told)
    page = Page(made.to_html())
    for text in ("2026-11-24", "Jane Doe", "census", "median income", "households"):
        assert text in page.text
        assert f": {text}\n" in made.to_markdown()
    assert privacy_report(Gaussian(5.0), delta=1e-6).facts == ()
    with pytest.raises(TypeError, match="author must be text, got 3"):
        privacy_report(Gaussian(5.0), delta=1e-6, author=3)


def test_a_ledger_brings_its_entries_and_the_share_names_the_budget(tmp_path):
    with Ledger(tmp_path / "privacy.db") as ledger:
        ledger.create("census", epsilon=3.0, delta=1e-6)
        ledger.charge("census", Gaussian(40.0), 3, note="weekly tables")
        left = ledger.status("census").remaining
        made = dataset_report(ledger, "census")
    assert ("Data set", ("census",)) in made.facts
    text = made.to_markdown()
    assert "| 3 x Gaussian(noise\\_multiplier=40.0) | weekly tables |" in text
    share = re.search(r"([\d.]+) % of the budget \(ε = 3, δ = 1e-6\) is left", text)[1]
    assert 0 <= Decimal(100 * left) - Decimal(share) < Decimal("0.02")


def test_a_headline_says_what_kind_of_number_it_has():
    assert "a proven upper bound" in privacy_report(ZCDP(0.1), delta=1e-6).headline
    epoch = ShuffledBatches(Gaussian(1.0), 100)
    made = privacy_report(epoch, delta=1e-5, adjacency="replace_one")
    low, high = PLDAccountant(adjacency="replace_one").compose(epoch).get_epsilon_bounds(1e-5)
    said = re.search(r"is not known; it is at least ([\d.]+)\.", made.to_markdown())[1]
    assert 0 <= Decimal(low) - Decimal(said) < Decimal("0.01")
    assert Decimal(made.headline.split()[2]) >= Decimal(high)
    assert "bound" not in privacy_report(STEP, 100, delta=1e-5).headline
    assert privacy_report(Composed(), delta=1e-5).headline == "ε = 0 exactly, at δ = 1e-5"


@pytest.mark.parametrize("command", ["account -", "audit - --delta 1e-5", "ledger import a.db -"])
def test_a_closed_standard_input_is_an_error_of_one_line(tmp_path, command):
    line = [sys.executable, "-m", "renyi", *command.split()]
    line += ["--delta", "1e-5"] if command.startswith("account") else []
    shell = f"exec {shlex.join(line)} <&-"
    done = subprocess.run(
        ["sh", "-c", shell], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 2
    assert "must be a file where the standard input is closed, got '-'" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_pure_guarantee_has_delta_zero():
    made = privacy_report(Laplace(2.0), 3, delta=0.0)
    assert made.headline == "ε = 1.5 exactly, at δ = 0"
    assert "| 1.5 | 0 | 0 |" in made.to_markdown()
    assert privacy_report(Gaussian(1.0), delta=0.0).headline == "No finite ε at δ = 0"


# --- statements as data, and JSON Schemas


TOLD = Disclosure(curator="a bureau", product="a model", unit="one user", trust_model="central")


def check(data, name):
    jsonschema = pytest.importorskip("jsonschema")
    schema = json_schema(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(data)


def rejects(data, name):
    jsonschema = pytest.importorskip("jsonschema")
    return bool(list(jsonschema.Draft202012Validator(json_schema(name)).iter_errors(data)))


def ledger_in(folder, **budget):
    ledger = Ledger(folder / "privacy.db")
    ledger.create("census", **budget)
    ledger.charge("census", Gaussian(20.0), note="ages", run="a", step=0)
    run = ledger.reserve("census", Gaussian(20.0), 3)
    ledger.settle("census", run, 1)
    return ledger


class TestStatement:
    @pytest.mark.parametrize(
        "mechanism", [STEP, PureDP(0.5), ApproxDP(0.5, 1e-6), RDPCurve(None, lambda a: 0.1 * a)]
    )
    def test_keeps_its_schema(self, mechanism):
        made = privacy_report(
            mechanism, 10, delta=1e-5, disclosure=TOLD, records=1000, date="today"
        )
        check(json.loads(made.to_json()), "statement")
        check(json.loads(made.to_registry()), "registry")

    def test_says_what_the_report_says(self):
        made = privacy_report(STEP, 15_000, delta=1e-5, disclosure=TOLD, queries="ages")
        data = json.loads(made.to_json())
        low, high = PLDAccountant().compose(STEP, 15_000).get_epsilon_bounds(1e-5)
        assert (data["guarantee"]["epsilon_lower"], data["guarantee"]["epsilon"]) == (low, high)
        assert Mechanism.from_dict(data["mechanism"]) == STEP * 15_000
        assert data["disclosure"]["unit"] == "one user"
        assert data["queries"] == ["ages"]
        entry = json.loads(made.to_registry())
        assert entry["tier_2"]["privacy_loss"] == {"epsilon": high, "delta": 1e-5}
        assert entry["tier_3"]["tuning"] == "not stated"
        assert entry["tier_2"]["deployment_model"] == "central"
        text = made.to_markdown()
        assert "* Unit: one user" in text
        assert "* Tuning: Not stated" in text
        assert "publisher" not in privacy_report(STEP, delta=1e-5).to_markdown()

    def test_without_a_finite_epsilon(self):
        made = privacy_report(ApproxDP(1.0, 1e-3), delta=1e-5)
        data = json.loads(made.to_json())
        assert data["guarantee"]["epsilon"] == "inf"
        check(data, "statement")
        check(json.loads(made.to_registry()), "registry")

    @pytest.mark.parametrize("budget", [{"rho": 0.5}, {"epsilon": 1.0, "delta": 1e-6}])
    def test_of_a_ledger_is_its_budget(self, tmp_path, budget):
        with ledger_in(tmp_path, **budget) as ledger:
            made = dataset_report(ledger, "census", disclosure=TOLD)
        data, entry = json.loads(made.to_json()), json.loads(made.to_registry())
        check(data, "statement")
        check(entry, "registry")
        assert data["budget"]["limits"] == budget == entry["tier_2"]["privacy_loss"]

    def test_yaml_of_a_model_card(self):
        yaml = pytest.importorskip("yaml")
        told = Disclosure(product='a "model": yes # no', unit="usér")
        block = yaml.safe_load(privacy_report(STEP, 10, delta=1e-5, disclosure=told).to_yaml())
        said = block["differential_privacy"]
        assert (said["data_product"], said["privacy_unit"]) == ('a "model": yes # no', "usér")
        assert said["privacy_loss"]["delta"] == 1e-5

    def test_disclosures(self):
        assert Disclosure.from_json('{"unit": "one user"}') == Disclosure(unit="one user")
        with pytest.raises(ValueError, match="disclosure must be an object with names of curator"):
            Disclosure.from_json('{"units": "one user"}')
        with pytest.raises(TypeError, match="unit must be text, got 3"):
            Disclosure(unit=3)


class TestSchemas:
    def test_of_what_is_written(self, tmp_path):
        run = STEP * 3 + Gaussian(3.0)
        check(run.to_dict(), "mechanism")
        check(json.loads(run.to_json()), "mechanism")
        for accountant in (PLDAccountant(), RDPAccountant(orders=[2.0, 4.0]), RDPAccountant()):
            check(json.loads(accountant.compose(run).to_json()), "accountant")
        with ledger_in(tmp_path, rho=0.5) as ledger:
            lines = [json.loads(line) for line in ledger.export_lines()]
        assert len(lines) == 4
        for line in lines:
            check(line, "ledger")

    def test_of_a_certificate(self):
        pytest.importorskip("flint")
        check(PLDAccountant().compose(Gaussian(1.0), 3).certificate(delta=1e-5), "certificate")

    def test_refuse_what_is_not_written(self, tmp_path):
        data = json.loads(privacy_report(STEP, delta=1e-5).to_json())
        assert rejects({**data, "version": 2}, "statement")
        assert rejects({**data, "more": 1}, "statement")
        assert rejects({key: data[key] for key in data if key != "guarantee"}, "statement")
        assert rejects({"noise_multiplier": 1.0}, "mechanism")
        assert rejects({"version": 1, "type": "PLDAccountant"}, "accountant")
        with pytest.raises(ValueError, match="name must be"):
            json_schema("curve")

    def test_what_version_1_wrote_is_still_read(self, tmp_path):
        """Literal texts of the first version: a reader that changes must keep them."""
        mechanism = (
            '{"type": "Composed", "parts": [{"mechanism": {"type": "PoissonSampled", "mechanism": '
            '{"type": "Gaussian", "noise_multiplier": 1.1}, "sample_rate": 0.01}, "count": 100}]}'
        )
        accountant = (
            '{"version": 1, "type": "PLDAccountant", "adjacency": "add_remove", "mechanisms": '
            f'[{{"mechanism": {mechanism}, "count": 1}}]}}'
        )
        check(json.loads(mechanism), "mechanism")
        check(json.loads(accountant), "accountant")
        run = PoissonSampled(Gaussian(1.1), 0.01) * 100
        assert PLDAccountant.from_json(accountant) == PLDAccountant().compose(run)
        line = (
            '{"version": 1, "dataset": "a", "number": 1, "entry": {"budget": {"accountant": "zcdp",'
            ' "adjacency": "add_remove", "delta": null, "epsilon": null, "rho": 0.5}, "dataset": '
            '"a", "note": "", "time": "2026-11-27T19:37:42+00:00", "type": "create"}, "repeats": 1,'
            ' "hash": "3afbe492f6be452a2fdf2cb312770f8c51b53d24762c608f3d713440f7b14aa7"}'
        )
        check(json.loads(line), "ledger")
        with Ledger(tmp_path / "old.db") as ledger:
            ledger.import_lines([line])
            assert ledger.status("a").budget == {"rho": 0.5}


@pytest.mark.parametrize("name", ["json", "registry", "yaml", "html", "markdown"])
def test_from_a_shell(tmp_path, capsys, name):
    from renyi.cli import main

    told = tmp_path / "told.json"
    told.write_text('{"unit": "one user"}', encoding="utf-8")
    run = ["--noise-multiplier", "1.1", "--sample-rate", "0.004", "--steps", "100"]
    arguments = ["report", *run, "--delta", "1e-5", "--format", name, "--disclosure", str(told)]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert "one user" in printed
    if name in ("json", "registry"):
        check(json.loads(printed), "statement" if name == "json" else name)
    told.write_text('{"units": "one user"}', encoding="utf-8")
    assert main(arguments) == 2
    assert "--disclosure: disclosure must be an object" in capsys.readouterr().err
