"""The source of randomness: ChaCha20 keyed by the operating system."""

from __future__ import annotations

import hashlib
import os
import sys
import threading
import warnings
import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np

from renyi._states import entries_of, freed_by_fork, secrets_of
from renyi._training import ChaCha20
from renyi._validation import count_of


class InsecureGeneratorWarning(UserWarning):
    """Noise that protects people comes from a generator that is not cryptographic."""


class SecureGenerator:
    """Random numbers from ChaCha20 (20 rounds, RFC 8439), keyed by the operating system.

    Threads may share a generator: every call has a key of its own, and what a call returns does not
    depend on the number of threads. A key is used once and then replaced by one that does not
    reveal it, so that the memory, for example in a core dump, does not reveal earlier draws. A
    process that is forked takes a new key, so no child repeats the numbers of its parent; for the
    same reason a generator is neither copied nor pickled.

    It is a bit generator for NumPy: ``np.random.Generator(SecureGenerator())``, or
    `numpy_generator`, draws any distribution of NumPy from the same stream.

    Args:
        insecure_reproducible: For tests only: a seed, at least 0, from which the key is made. Noise
            that can be repeated can be subtracted, so there is no privacy. Such a generator may be
            copied and pickled, and keeps its key in a forked process.

    Source: Nir, Langley 2018, RFC 8439. Bernstein 2017, "Fast-key-erasure random-number
    generators".

    >>> SecureGenerator().bytes(3) == SecureGenerator().bytes(3)
    False
    >>> test = SecureGenerator(insecure_reproducible=1)
    >>> test.numpy_generator().integers(100, size=3)
    array([61, 61, 88])
    """

    def __init__(self, *, insecure_reproducible: int | None = None) -> None:
        key = None
        if insecure_reproducible is not None:
            key = _key_of_seed(count_of(insecure_reproducible, "insecure_reproducible"))
        self._become(key)

    def _become(self, key: bytes | None) -> None:
        self._secure = key is None
        self.core = ChaCha20(key)
        self.lock = freed_by_fork(threading.Lock())  # NumPy holds it while it draws
        _LIVING.add(self)

    @property
    def secure(self) -> bool:
        """False for a reproducible generator."""
        return self._secure

    @property
    def capsule(self) -> Any:
        """The capsule through which NumPy calls a bit generator."""
        return self.core.capsule

    def numpy_generator(self) -> np.random.Generator:
        """Return a NumPy generator that draws from this stream."""
        bit_generator: Any = self
        return np.random.Generator(bit_generator)

    def bytes(self, length: int) -> bytes:
        """Return ``length`` random bytes."""
        length = count_of(length, "length")
        groups = -(-length // _GROUP_BYTES)
        return self.core.words(groups).tobytes()[:length]

    def spawn(self, n_children: int) -> list[SecureGenerator]:
        """Return generators independent of this one and of each other.

        Children of a secure generator have keys of their own from the operating system; those of a
        reproducible one have keys taken from its stream.
        """
        count = count_of(n_children, "n_children")
        return [_with_key(None if self.secure else self.core.derived_key()) for _ in range(count)]

    def state_dict(self, *, secrets: bool = False) -> dict[str, Any]:
        """Return the state, for `load_state_dict`.

        The state of a secure generator only says that it is one: its key is never written. With
        ``secrets`` the entry "secrets" holds the next draws of a reproducible one. They allow the
        noise to be subtracted and must not be published with a state.
        """
        state = {"generator": "ChaCha20", "insecure_reproducible": not self.secure}
        if not secrets:
            return state
        if self.secure:
            return {**state, "secrets": {}}
        with self.lock:
            key, nonce, buffer = self.core.state()
        own = {"key": key.hex(), "nonce": nonce, "buffer": buffer.hex()}
        return {**state, "secrets": own}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from `state_dict`; a secure generator takes a new key instead.

        Raises:
            ValueError: If the state is not one of a ChaCha20 generator, or one of a reproducible
                generator is given to a secure one or the reverse, or it lacks the secrets of a
                reproducible one. Nothing is changed then.
        """
        name, reproducible = entries_of(state, "generator", "insecure_reproducible")
        if name != "ChaCha20" or not isinstance(reproducible, bool):
            raise ValueError("state must be a state_dict of a SecureGenerator, got another's")
        if reproducible is self.secure:
            kind = "secure" if self.secure else "reproducible"
            raise ValueError(f"state must be that of a {kind} generator, as this one is")
        if self.secure:
            self.core.rekey()
            return
        names = ("key", "nonce", "buffer")
        key, nonce, buffer = secrets_of(state, "a reproducible generator", *names)
        try:
            with self.lock:
                self.core.restore(bytes.fromhex(key), nonce, bytes.fromhex(buffer))
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(
                f"state must hold {', '.join(names)} of a generator, got {error}"
            ) from error

    def __reduce__(self) -> tuple[Any, ...]:
        if self.secure:
            raise TypeError(
                "a SecureGenerator cannot be copied or pickled: both copies would draw the same "
                "noise; make a new one instead"
            )
        return _from_state, (self.state_dict(secrets=True),)

    def __repr__(self) -> str:
        return f"<SecureGenerator: ChaCha20, {'secure' if self.secure else 'reproducible'}>"


_GROUP_BYTES = 1024
_LIVING: weakref.WeakSet[SecureGenerator] = weakref.WeakSet()


def _key_of_seed(seed: int) -> bytes:
    text = f"renyi insecure_reproducible {seed}"
    return hashlib.blake2b(text.encode(), digest_size=32).digest()


def _with_key(key: bytes | None) -> SecureGenerator:
    generator = SecureGenerator.__new__(SecureGenerator)
    generator._become(key)
    return generator


def _from_state(state: Mapping[str, Any]) -> SecureGenerator:
    generator = _with_key(bytes(32))
    generator.load_state_dict(state)
    return generator


def _after_fork() -> None:
    # The core notices a fork by itself at the next draw; this removes the parent's key at once.
    for generator in _LIVING:
        if generator.secure:
            generator.core.rekey()


os.register_at_fork(after_in_child=_after_fork)


_DEFAULT = SecureGenerator()


def generator_of(value: Any) -> SecureGenerator:
    """Return the generator to draw from: the process's own for None.

    A NumPy generator serves as the source of a key, and with a warning unless it draws from a
    `SecureGenerator` itself.
    """
    if value is None:
        return _DEFAULT
    if isinstance(value, SecureGenerator):
        return value
    if not isinstance(value, np.random.Generator):
        raise TypeError(
            f"generator must be a SecureGenerator, a numpy.random.Generator or None, got {value!r}"
        )
    source: Any = value.bit_generator
    if isinstance(source, SecureGenerator):
        return source
    warnings.warn(
        f"{type(source).__name__} is not a cryptographic generator: who sees some of its "
        "numbers can compute the noise, and a forked child repeats it; leave generator out, or "
        "pass a SecureGenerator",
        InsecureGeneratorWarning,
        stacklevel=_callers_level(),
    )
    words = value.integers(1 << 32, size=8, dtype=np.uint32)
    return _with_key(words.astype("<u4").tobytes())


def _callers_level() -> int:
    """Return the stacklevel, in the function that calls this, of the first line outside renyi."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back and str(frame.f_globals.get("__name__")).split(".")[0] == "renyi":
        level, frame = level + 1, frame.f_back
    return level
