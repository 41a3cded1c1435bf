"""Write src/renyi/special/elementary_tables.hpp: the constants of exp and log in double-double.

Run from the root of the repository: python tools/make_elementary_tables.py (a second; needs
mpmath).
"""

from __future__ import annotations

from pathlib import Path

from mpmath import mp, mpf

HEADER = Path(__file__).resolve().parents[1] / "src/renyi/special/elementary_tables.hpp"
BITS = 6


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
    lines = [
        "// Made by tools/make_elementary_tables.py.",
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
        "}  // namespace renyi",
        "",
    ]
    HEADER.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
