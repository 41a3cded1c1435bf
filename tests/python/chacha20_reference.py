"""ChaCha20 a second time, of RFC 8439, section 2.3, and how a generator goes from key to key."""

import numpy as np

__all__ = ["blocks", "group", "ratchet"]

CONSTANTS = (0x61707865, 0x3320646E, 0x79622D32, 0x6B206574)


def blocks(key, counters, nonce=0):
    """The blocks of so many counters: rows of 16 words."""
    start = np.empty((16, len(counters)), np.uint32)
    start[:4] = np.array(CONSTANTS, np.uint32)[:, None]
    start[4:12] = np.array(key, np.uint32)[:, None]
    start[12], start[13] = np.array(counters, np.uint64) & 0xFFFFFFFF, 0
    start[14], start[15] = nonce & 0xFFFFFFFF, nonce >> 32
    s = start.copy()

    def mix(a, b, d, by):
        s[a] += s[b]
        turned = s[d] ^ s[a]
        s[d] = turned << np.uint32(by) | turned >> np.uint32(32 - by)

    for _ in range(10):
        for shift in (0, 1):  # columns, then diagonals
            for i in range(4):
                a, b, c, d = (4 * r + (i + r * shift) % 4 for r in range(4))
                mix(a, b, d, 16), mix(c, d, b, 12), mix(a, b, d, 8), mix(c, d, b, 7)
    return (s + start).T


def group(key, number=0, nonce=0):
    """The words of 16 blocks, word by word, as vector lanes have them."""
    return blocks(key, range(16 * number, 16 * number + 16), nonce).T.ravel().tolist()


def ratchet(key):
    """The next key, and the key of the draw between."""
    words = blocks(key, [0])[0].tolist()
    return words[:8], words[8:]
