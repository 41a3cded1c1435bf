"""A small transformer in plain NumPy, and what its layers leave behind in a pass forth and back.

Characters come in, scores of the next one go out. Blocks are attention and a perceptron, each after
a layer norm without gain (Vaswani et al. 2017, pre-norm). Low-rank adapters stand beside the
projections; the last norm has a gain and a bias.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from examples._text import CHARACTERS

from renyi.sgd import LoRALayer, NormLayer

__all__ = ["Transformer"]

Array = npt.NDArray[np.float32]
Tokens = npt.NDArray[np.int64]

_EPSILON = 1e-5


class Transformer:
    """Weights that are frozen once they are there, and adapters.

    Attributes:
        weights (dict of arrays): Tables of characters and places, projections of each block, the
            head.
        adapters (dict of pairs): A and B of each projection that has them.
        gain, bias (array): Of the last norm.
    """

    def __init__(
        self, seed: int, *, width: int = 64, blocks: int = 2, heads: int = 4, length: int = 64
    ) -> None:
        rng = np.random.default_rng(seed)
        self.blocks, self.heads = blocks, heads
        sizes = {"out": (width, width), "up": (width, 4 * width), "down": (4 * width, width)}
        sizes = {"qkv": (width, 3 * width), **sizes}
        shapes = {f"{k}.{name}": shape for k in range(blocks) for name, shape in sizes.items()}
        shapes |= {"head": (width, CHARACTERS)}
        self.weights = {
            name: rng.normal(0.0, shape[0] ** -0.5, shape).astype(np.float32)
            for name, shape in shapes.items()
        }
        for name, rows in (("characters", CHARACTERS), ("places", length)):
            self.weights[name] = rng.normal(0.0, 0.1, (rows, width)).astype(np.float32)
        self.adapters: dict[str, tuple[Array, Array]] = {}
        self.gain, self.bias = np.ones(width, np.float32), np.zeros(width, np.float32)

    def adapt(self, rank: int, seed: int) -> list[Array]:
        """Put adapters beside all projections; return what is trained, in the order of `layers`."""
        rng = np.random.default_rng(seed)
        for name, matrix in self.weights.items():
            if "." in name:
                inputs, outputs = matrix.shape
                a = rng.normal(0.0, inputs**-0.5, (inputs, rank)).astype(np.float32)
                self.adapters[name] = (a, np.zeros((rank, outputs), np.float32))
        return [array for pair in self.adapters.values() for array in pair] + [self.gain, self.bias]

    def losses(self, tokens: Tokens) -> npt.NDArray[np.float64]:
        """Return the mean cross-entropy of the characters after the first, in bits: (B,)."""
        scores = self._scores(tokens[:, :-1], {})
        return _cross_entropy(scores, tokens[:, 1:])[0]

    def layers(self, tokens: Tokens) -> list[LoRALayer | NormLayer]:
        """Return adapters and norm with the gradients of each record's own loss, in nats."""
        passed = self.passed(tokens)
        found: list[LoRALayer | NormLayer] = [
            LoRALayer(*passed[name], a, b) for name, (a, b) in self.adapters.items()
        ]
        return [*found, NormLayer(*passed["norm"], "none")]

    def passed(self, tokens: Tokens) -> dict[str, tuple[Array, Array]]:
        """Return what entered each layer, and the gradients of the losses by what left it."""
        kept: dict[str, Any] = {}
        scores = self._scores(tokens[:, :-1], kept)
        return self._backward(_cross_entropy(scores, tokens[:, 1:])[1], kept)

    def _scores(self, tokens: Tokens, kept: dict[str, Any]) -> Array:
        weights = self.weights
        x = weights["characters"][tokens] + weights["places"][: tokens.shape[1]]
        for k in range(self.blocks):
            attended = self._attention(self._project(f"{k}.qkv", _norm(x, f"{k}.a", kept), kept))
            kept[f"{k}.attention"] = attended
            x = x + self._project(f"{k}.out", attended[0], kept)
            raised = self._project(f"{k}.up", _norm(x, f"{k}.p", kept), kept)
            x = x + self._project(f"{k}.down", np.maximum(raised, 0.0), kept)
        kept["norm"] = _norm(x, "last", kept)
        kept["head"] = kept["norm"] * self.gain + self.bias
        return np.asarray(kept["head"] @ weights["head"])

    def _backward(self, g: Array, kept: dict[str, Any]) -> dict[str, tuple[Array, Array]]:
        found: dict[str, tuple[Array, Array]] = {"head": (kept["head"], g)}
        g = g @ self.weights["head"].T
        found["norm"] = (kept["norm"], g)
        g = _norm_back(g * self.gain, kept["last"])
        for k in reversed(range(self.blocks)):
            back = self._project_back(f"{k}.down", g, kept, found)
            back = self._project_back(f"{k}.up", back * (kept[f"{k}.down"] > 0.0), kept, found)
            g = g + _norm_back(back, kept[f"{k}.p"])
            back = self._project_back(f"{k}.out", g, kept, found)
            back = self._attention_back(back, kept[f"{k}.attention"])
            back = self._project_back(f"{k}.qkv", back, kept, found)
            g = g + _norm_back(back, kept[f"{k}.a"])
        found["places"] = (kept["0.a"][0], g)
        return found

    def _project(self, name: str, x: Array, kept: dict[str, Any]) -> Array:
        kept[name] = x
        y: Array = x @ self.weights[name]
        if name in self.adapters:
            a, b = self.adapters[name]
            y += (x @ a) @ b
        return y

    def _project_back(self, name: str, g: Array, kept: dict[str, Any], found: Any) -> Array:
        found[name] = (kept[name], g)
        back: Array = g @ self.weights[name].T
        if name in self.adapters:
            a, b = self.adapters[name]
            back += (g @ b.T) @ a.T
        return back

    def _attention(self, qkv: Array) -> tuple[Array, ...]:
        """Return what is attended to, the shares, and queries, keys and values by heads."""
        count, times, width = qkv.shape
        q, k, v = qkv.reshape(count, times, 3, self.heads, -1).transpose(2, 0, 3, 1, 4)
        scores = q @ k.swapaxes(2, 3) * np.float32(q.shape[-1] ** -0.5)
        scores += np.triu(np.full((times, times), -1e9, np.float32), 1)
        shares = _softmax(scores)
        together = (shares @ v).transpose(0, 2, 1, 3).reshape(count, times, width // 3)
        return together, shares, q, k, v

    def _attention_back(self, g: Array, kept: tuple[Array, ...]) -> Array:
        _, shares, q, k, v = kept
        count, times, width = g.shape
        g = g.reshape(count, times, self.heads, -1).transpose(0, 2, 1, 3)
        back = g @ v.swapaxes(2, 3)
        back = shares * (back - (back * shares).sum(axis=3, keepdims=True))
        back *= np.float32(q.shape[-1] ** -0.5)
        parts = np.stack([back @ k, back.swapaxes(2, 3) @ q, shares.swapaxes(2, 3) @ g])
        return parts.transpose(1, 3, 0, 2, 4).reshape(count, times, 3 * width)


def _norm(x: Array, name: str, kept: dict[str, Any]) -> Array:
    centred: Array = x - x.mean(axis=-1, keepdims=True)
    scale = 1.0 / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(_EPSILON))
    centred *= scale
    kept[name] = (centred, scale)
    return centred


def _norm_back(g: Array, kept: tuple[Array, Array]) -> Array:
    z, scale = kept
    along = (g * z).mean(axis=-1, keepdims=True)
    return np.asarray(scale * (g - g.mean(axis=-1, keepdims=True) - z * along))


def _softmax(scores: Array) -> Array:
    shares: Array = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    return shares


def _cross_entropy(scores: Array, wanted: Tokens) -> tuple[npt.NDArray[np.float64], Array]:
    """Return the mean of each record in bits, and its gradient by the scores in nats."""
    shares = _softmax(scores)
    index = wanted[..., np.newaxis]
    found = np.take_along_axis(shares, index, axis=2)
    bits = -np.log2(np.maximum(found, 1e-30)).mean(axis=(1, 2), dtype=np.float64)
    np.put_along_axis(shares, index, found - 1.0, axis=2)
    return bits, shares / np.float32(wanted.shape[1])
