"""Layers of models, clipped from their activations and output gradients alone."""
