"""Write src/renyi/special/tables.hpp: the constants of exp, log and the normal tail.

Run from the root of the repository: python tools/make_tables.py (a second; needs mpmath).
"""

from __future__ import annotations

from pathlib import Path

from mpmath import mp, mpf

HEADER = Path(__file__).resolve().parents[1] / "src/renyi/special/tables.hpp"
BITS = 6
NODES = 25


def double_double(x: mpf) -> str:
    """Return the two doubles nearest to x as a C++ initialiser."""
    high = float(x)
    return f"{{{high.hex()}, {float(x - mpf(high)).hex()}}}"


def main() -> None:
    """Write the header."""
    mp.prec = 300
    powers = [mpf(2) ** (mpf(i) / 2**BITS) for i in range(2**BITS)]
    # 1/m for the middle m of each cell, to 9 bits, so that |m c - 1| < 2^-7 + 2^-9 and m c is exact
    # in double-double.
    inverses = [round(512 / (1 + (i + 0.5) / 2**BITS)) / 512 for i in range(2**BITS)]
    weights = [mp.exp(-(mpf(2 * n + 1) ** 2) / 32) / mp.sqrt(2 * mp.pi) for n in range(NODES)]
    lines = [
        "// Constants of exp, log and the normal tail in double-double. "
        "Made by tools/make_tables.py.",
        "#pragma once",
        "",
        '#include "renyi/fp/double_double.hpp"',
        "",
        "namespace renyi {",
        "",
        "// 2^(i/64)",
        f"constexpr DoubleDouble kExpTable[{2**BITS}] = {{",
        *(f"    {double_double(p)}," for p in powers),
        "};",
        "",
        "// c near 1/m for m in [1 + i/64, 1 + (i+1)/64), and -log c",
        "struct LogEntry {",
        "    double c;",
        "    DoubleDouble minus_log;",
        "};",
        f"constexpr LogEntry kLogTable[{2**BITS}] = {{",
        *(f"    {{{c.hex()}, {double_double(-mp.log(mpf(c)))}}}," for c in inverses),
        "};",
        "",
        "// sqrt(2/pi) h e^(-s^2/2) at s = (n + 1/2) h, h = 1/2",
        f"constexpr DoubleDouble kMillsWeight[{NODES}] = {{",
        *(f"    {double_double(w)}," for w in weights),
        "};",
        "",
        f"constexpr DoubleDouble kFourPi{double_double(4 * mp.pi)};",
        f"constexpr DoubleDouble kSqrtTwoPi{double_double(mp.sqrt(2 * mp.pi))};",
        f"constexpr DoubleDouble kInverseSqrtTwoPi{double_double(1 / mp.sqrt(2 * mp.pi))};",
        "",
        "}  // namespace renyi",
        "",
    ]
    HEADER.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
