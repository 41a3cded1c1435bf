"""The shells of `StepCallback` in the frameworks that are installed, each trained with.

For all of them: ``python -m pip install ".[test,frameworks]"``, for pfl, which asks for an older
dp_accounting, ``python -m pip install --no-deps pfl prv-accountant multiprocess``, and then
``python -m pytest tests/python/test_compat_*.py``.
"""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

from renyi import BudgetExceededError, Gaussian, Laplace, PLDAccountant, PoissonSampled
from renyi.compat import StepCallback

pytestmark = pytest.mark.filterwarnings("ignore")
STEP = PoissonSampled(Gaussian(2.0), 0.1)
BUDGET = {"epsilon": 1.0, "delta": 1e-5}
FIT = 16  # steps that fit, more than an epoch of 12


def test_the_budget_of_these_tests():
    steps = StepCallback(STEP, **BUDGET)
    while not steps.would_exceed():
        steps.compose()
    assert len(steps) == FIT


def imported(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name, exc_type=ImportError)


class TestLightning:
    @pytest.fixture
    def parts(self):
        """Return a module, its loader and a maker of trainers."""
        lightning, torch = imported("lightning.pytorch"), imported("torch")

        class Module(lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(2, 1)

            def training_step(self, batch, _):
                return self.layer(batch).square().mean()

            def configure_optimizers(self):
                return torch.optim.SGD(self.parameters(), lr=0.1)

        def trainer(steps, folder, **options):
            from renyi.compat.lightning import PrivacyCallback

            return lightning.Trainer(
                accelerator="cpu",
                callbacks=[PrivacyCallback(steps)],
                default_root_dir=folder,
                enable_model_summary=False,
                enable_progress_bar=False,
                logger=False,
                **options,
            )

        return Module(), torch.utils.data.DataLoader(torch.ones(24, 2), batch_size=2), trainer

    def test_ends_at_the_budget_with_a_statement(self, parts, tmp_path):
        module, loader, trainer = parts
        steps = StepCallback(STEP, **BUDGET, statement=tmp_path / "privacy.html")
        training = trainer(steps, tmp_path, max_epochs=9)
        training.fit(module, loader)
        assert training.global_step == len(steps) == FIT
        assert training.callback_metrics["epsilon"] == pytest.approx(steps.get_epsilon())
        assert "<h1>Privacy statement</h1>" in (tmp_path / "privacy.html").read_text("utf-8")
        before = module.layer.weight.clone()
        trainer(steps, tmp_path, max_epochs=1).fit(module, loader)
        assert (module.layer.weight == before).all()

    def test_never_beyond_it(self, parts, tmp_path):
        module, loader, trainer = parts
        steps = StepCallback(STEP, **BUDGET)
        with pytest.raises(BudgetExceededError):
            trainer(steps, tmp_path, max_epochs=9, min_epochs=3).fit(module, loader)
        assert len(steps) == FIT

    def test_gradients_that_are_accumulated_are_one_step(self, parts, tmp_path):
        module, loader, trainer = parts
        steps = StepCallback(STEP, **BUDGET)
        trainer(steps, tmp_path, max_epochs=1, accumulate_grad_batches=4).fit(module, loader)
        assert len(steps) == 3

    def test_goes_on_from_a_checkpoint(self, parts, tmp_path):
        module, loader, trainer = parts
        first = trainer(StepCallback(STEP, **BUDGET), tmp_path, max_epochs=1)
        first.fit(module, loader)
        first.save_checkpoint(tmp_path / "run.ckpt")
        steps = StepCallback(STEP, **BUDGET)
        second = trainer(steps, tmp_path, max_epochs=9)
        second.fit(module, loader, ckpt_path=tmp_path / "run.ckpt", weights_only=False)
        assert second.global_step == len(steps) == FIT


class TestTransformers:
    @pytest.fixture
    def trainer(self, tmp_path):
        """Return a maker of trainers of a tiny model of language."""
        transformers, torch = imported("transformers"), imported("torch")
        imported("accelerate")

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(2, 1)

            def forward(self, inputs):
                return {"loss": self.layer(inputs).square().mean()}

        data = [{"inputs": torch.ones(2)} for _ in range(24)]

        def make(steps, **options):
            from renyi.compat.transformers import PrivacyCallback

            settings = {"num_train_epochs": 9, "save_strategy": "no", "logging_steps": 5}
            arguments = transformers.TrainingArguments(
                output_dir=str(tmp_path),
                per_device_train_batch_size=2,
                use_cpu=True,
                report_to=[],
                disable_tqdm=True,
                **settings | options,
            )
            return transformers.Trainer(
                Model(), arguments, train_dataset=data, callbacks=[PrivacyCallback(steps)]
            )

        return make

    def test_ends_at_the_budget_with_a_statement(self, trainer, tmp_path):
        steps = StepCallback(STEP, **BUDGET, statement=tmp_path / "privacy.md")
        training = trainer(steps)
        training.train()
        assert training.state.global_step == len(steps) == FIT
        logged = [entry["epsilon"] for entry in training.state.log_history if "loss" in entry]
        expected = PLDAccountant().get_epsilon_after(1e-5, STEP, [5, 10, 15])
        assert logged[:3] == pytest.approx(expected.tolist(), rel=1e-12)
        assert (tmp_path / "privacy.md").read_text("utf-8").startswith("# Privacy statement")

    def test_gradients_that_are_accumulated_are_one_step(self, trainer):
        steps = StepCallback(STEP, **BUDGET)
        trainer(steps, num_train_epochs=1, gradient_accumulation_steps=4).train()
        assert len(steps) == 3

    def test_goes_on_from_a_checkpoint(self, trainer, tmp_path):
        first = trainer(
            StepCallback(STEP, **BUDGET), max_steps=8, save_strategy="steps", save_steps=8
        )
        first.train()
        steps = StepCallback(STEP, **BUDGET)
        second = trainer(steps)
        second.train(resume_from_checkpoint=str(tmp_path / "checkpoint-8"))
        assert second.state.global_step == len(steps) == FIT


class TestFlower:
    def config(self, relation, sampling, **options):
        types = imported("flwr.supercore.privacy_accounting")
        return types.PrivacyConfig(
            1e-5, 1000, types.NeighboringRelation(relation), types.SamplingMethod(sampling),
            **options,
        )  # fmt: skip

    def event(self, noise=2.0, sample=100, population=1000):
        types = imported("flwr.supercore.privacy_accounting")
        return types.GaussianPrivacyEvent(noise, sample, population)

    def made(self, config):
        from renyi.compat.flower import PrivacyAccountant

        return PrivacyAccountant(config)

    def test_rounds_up_to_the_budget(self):
        mine = self.made(self.config("add-or-remove-one", "poisson", max_epsilon=1.0))
        while not mine.would_exceed(self.event()):
            mine.compose(self.event())
        assert mine.num_releases == FIT
        with pytest.raises(BudgetExceededError):
            mine.compose(self.event())
        spent = mine.get_privacy_spent()
        expected = PLDAccountant().compose(STEP, FIT)
        assert (spent.epsilon, spent.delta, spent.num_releases) == (
            expected.get_epsilon(1e-5), 1e-5, FIT
        )  # fmt: skip
        assert mine.get_delta(0.5) == expected.get_delta(0.5)
        assert not mine.would_exceed(self.event(), max_epsilon=2.0)
        state = json.loads(json.dumps(mine.state_dict()))
        again = self.made(mine.config)
        again.load_state_dict(state)
        assert again.get_privacy_spent() == spent
        with pytest.raises(ValueError, match="population 1000, got 500"):
            mine.would_exceed(self.event(population=500))

    @pytest.mark.parametrize(
        ("relation", "sampling"),
        [
            ("add-or-remove-one", "poisson"),
            ("add-or-remove-one", "no-amplification"),
            ("replace-one", "without-replacement"),
        ],
    )
    def test_beside_their_accountant(self, relation, sampling):
        imported("dp_accounting")
        theirs = imported("flwr.supercore.privacy_accounting.rdp_accountant")
        config = self.config(relation, sampling)
        mine, other = self.made(config), theirs.RdpAccountant(config)
        for accountant in mine, other:
            accountant.compose(self.event(), 50)
            accountant.compose(self.event(noise=4.0, sample=10), 50)
            assert accountant.num_releases == 100
        low, high = mine.steps.accountant.get_epsilon_bounds(1e-5)
        assert low <= mine.get_epsilon(1e-5) == high
        if relation == "replace-one":  # they move the sum by one clipping norm: too little
            assert mine.get_epsilon(1e-5) > other.get_epsilon(1e-5)
        else:
            assert 0.5 * other.get_epsilon(1e-5) < high <= other.get_epsilon(1e-5)


class TestPfl:
    @pytest.mark.parametrize(("name", "kind"), [("gaussian", Gaussian), ("laplace", Laplace)])
    def test_two_give_the_third(self, name, kind):
        imported("pfl.privacy")
        from renyi.compat.pfl import PLDPrivacyAccountant

        made = PLDPrivacyAccountant(100, 0.1, name, epsilon=2.0, delta=1e-6, noise_scale=0.5)
        noise = made.noise_parameter
        run = PLDAccountant().compose(PoissonSampled(kind(noise), 0.1), 100)
        assert 1.999 < run.get_epsilon(1e-6) <= 2.0
        assert made.cohort_noise_parameter == 0.5 * noise
        spent = PLDPrivacyAccountant(100, 0.1, name, delta=1e-6, noise_parameter=noise)
        assert spent.epsilon == run.get_epsilon(1e-6)
        left = PLDPrivacyAccountant(100, 0.1, name, epsilon=2.0, noise_parameter=noise)
        assert left.delta == run.get_delta(2.0)
        assert PLDPrivacyAccountant(100, 0.1, name, 2.0, 1e-6, noise).noise_parameter == noise
        with pytest.raises(ValueError, match="noise_parameter must give delta 1e-06 at epsilon 1"):
            PLDPrivacyAccountant(100, 0.1, name, 1.0, 1e-6, noise)

    def test_their_mechanism_takes_it(self):
        privacy = imported("pfl.privacy")
        from renyi.compat.pfl import PLDPrivacyAccountant

        arguments = {"num_compositions": 100, "sampling_probability": 0.1, "mechanism": "gaussian"}
        mine = PLDPrivacyAccountant(**arguments, epsilon=2.0, delta=1e-6)
        made = privacy.GaussianMechanism.from_privacy_accountant(mine, clipping_bound=1.5)
        assert made.relative_noise_stddev == mine.cohort_noise_parameter
        theirs = privacy.PLDPrivacyAccountant(**arguments, epsilon=2.0, delta=1e-6)
        assert mine.noise_parameter == pytest.approx(theirs.noise_parameter, rel=2e-3)
        with pytest.raises(ValueError, match="mechanism must be 'gaussian' or 'laplace'"):
            PLDPrivacyAccountant(**arguments | {"mechanism": "none"}, epsilon=2.0, delta=1e-6)


class TestJaxPrivacy:
    @pytest.mark.parametrize("bands", [1, 3])
    def test_plans_are_calibrated_by_ours(self, bands):
        plans = imported("jax_privacy.experimental.execution_plan")
        import dp_accounting

        from renyi.compat.dp_accounting import PLDAccountant as Plug
        from renyi.compat.dp_accounting import from_dp_event

        relation = dp_accounting.NeighboringRelation.REPLACE_SPECIAL
        config = plans.BandMFExecutionPlanConfig.default(
            bands,
            60,
            epsilon=1.0,
            delta=1e-6,
            l2_clip_norm=1.0,
            sampling_prob=0.1,
            accountant=Plug(relation),
            strategy_optimization_steps=5,
        )
        run = from_dp_event(config.plan.dp_event, relation)
        spent = PLDAccountant(adjacency="zero_out").compose(run).get_epsilon(1e-6)
        assert 0.99 < spent <= 1.0
        statement = StepCallback(
            run, epsilon=1.0, delta=1e-6, accountant=PLDAccountant(adjacency="zero_out")
        ).compose()
        assert statement.would_exceed()


class TestCorrelatedNoise:
    """What both hooks add is the noise of the stream: C applied to it gives independent noise."""

    STEPS = 6

    def stream(self, entries, scale):
        from renyi.matrix import BandedInverse

        return BandedInverse.optimal(self.STEPS, 2).noise(entries, scale=scale)

    def check(self, released, scale):
        """Released are noises alone; correlated as C^-1 says, at 4,000 entries a step."""
        stream = self.stream(4000, scale)
        expected = [next(stream) for _ in range(self.STEPS)]
        for found, like in zip(released, expected, strict=True):
            assert found.std() == pytest.approx(like.std(), rel=0.1)
        one, two = (np.corrcoef(noises[0], noises[1])[0, 1] for noises in (released, expected))
        assert one == pytest.approx(two, abs=0.1)

    def test_torch(self):
        torch = imported("torch")
        from renyi.compat.torch import add_correlated_noise

        parameters = [
            torch.zeros(1000, 2, requires_grad=True),
            torch.zeros(2000, requires_grad=True),
        ]
        optimizer = torch.optim.SGD(parameters, lr=1.0)
        handle = add_correlated_noise(optimizer, self.stream(4000, 0.5))
        released = []
        for _ in range(self.STEPS):
            for parameter in parameters:
                parameter.grad = torch.ones_like(parameter)
            optimizer.step()
            flat = torch.cat([p.grad.reshape(-1) for p in parameters])
            released.append(flat.double().numpy() - 1.0)
        self.check(released, 0.5)
        parameters[0].grad = None
        with pytest.raises(ValueError, match="parameters must have a gradient each"):
            optimizer.step()
        handle.remove()
        optimizer.step()

    def test_optax(self):
        optax, jnp = imported("optax"), imported("jax.numpy")
        from renyi.compat.optax import correlated_noise

        rule = optax.chain(correlated_noise(self.stream(4000, 0.5)), optax.identity())
        tree = {"a": jnp.ones((1000, 2)), "b": jnp.ones(2000)}
        state, released = rule.init(tree), []
        for _ in range(self.STEPS):
            updates, state = rule.update(tree, state)
            flat = [np.asarray(updates[name], np.float64).reshape(-1) for name in tree]
            released.append(np.concatenate(flat) - 1.0)
        self.check(released, 0.5)
