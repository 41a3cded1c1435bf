"""Statements as data, and the JSON Schemas of what the package writes, by jsonschema."""

from __future__ import annotations

import json

import pytest

from renyi import (
    ApproxDP,
    Gaussian,
    Ledger,
    PLDAccountant,
    PoissonSampled,
    PureDP,
    RDPAccountant,
    RDPCurve,
)
from renyi.mechanisms import Mechanism
from renyi.report import Disclosure, dataset_report, json_schema, privacy_report

jsonschema = pytest.importorskip("jsonschema")
STEP = PoissonSampled(Gaussian(1.1), 0.004)
TOLD = Disclosure(curator="a bureau", product="a model", unit="one user", trust_model="central")


def check(data, name):
    schema = json_schema(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(data)


def rejects(data, name):
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
