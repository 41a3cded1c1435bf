"""Write src/renyi/special/normal_table.hpp: constants of the normal tail in double-double.

Run from the root of the repository: python tools/make_normal_table.py (a second; needs mpmath).
"""

from __future__ import annotations

from pathlib import Path

from mpmath import exp, mp, mpf, pi, sqrt

HEADER = Path(__file__).resolve().parents[1] / "src/renyi/special/normal_table.hpp"
NODES = 25


def double_double(x: mpf) -> str:
    """Return the two doubles nearest to x as a C++ initialiser."""
    high = float(x)
    return f"{{{high.hex()}, {float(x - mpf(high)).hex()}}}"


def main() -> None:
    """Write the header."""
    mp.prec = 300
    weights = [exp(-(mpf(2 * n + 1) ** 2) / 32) / sqrt(2 * pi) for n in range(NODES)]
    lines = [
        "// Made by tools/make_normal_table.py.",
        "#pragma once",
        "",
        '#include "renyi/fp/double_double.hpp"',
        "",
        "namespace renyi {",
        "",
        "// sqrt(2/pi) h e^(-s^2/2) at s = (n + 1/2) h, h = 1/2",
        f"constexpr DoubleDouble kMillsWeight[{NODES}] = {{",
        *(f"    {double_double(w)}," for w in weights),
        "};",
        "",
        f"constexpr DoubleDouble kFourPi{double_double(4 * pi)};",
        f"constexpr DoubleDouble kSqrtTwoPi{double_double(sqrt(2 * pi))};",
        f"constexpr DoubleDouble kInverseSqrtTwoPi{double_double(1 / sqrt(2 * pi))};",
        "",
        "}  // namespace renyi",
        "",
    ]
    HEADER.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
