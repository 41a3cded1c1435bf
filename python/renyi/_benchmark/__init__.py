"""The timing of `renyi bench` and of bench/, beside what other libraries do."""
