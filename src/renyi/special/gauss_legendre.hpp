// Gauss-Legendre quadrature with 16 nodes on [-1, 1]: the positive nodes and their weights.
//
// On a panel of half-width r, for f analytic in the Bernstein ellipse of parameter rho > 1 with |f| <= M there, the
// error is at most (64/15) r M rho^-32 / (1 - rho^-2) (Trefethen, Approximation Theory and Approximation Practice,
// Theorem 19.3).
#pragma once

namespace renyi {

constexpr int kLegendreHalf = 8;
constexpr double kLegendreNode[kLegendreHalf] = {0x1.fa92c264d787ep-1, 0x1.e39f56616f9b0p-1, 0x1.bb3403514e483p-1,
                                                 0x1.82c45dda4726bp-1, 0x1.3c5a466d5e8b8p-1, 0x1.d50259a43a772p-2,
                                                 0x1.205cae642337cp-2, 0x1.852bd6676a9f9p-4};
constexpr double kLegendreWeight[kLegendreHalf] = {0x1.bcddab4b7c211p-6, 0x1.fdfb1a2c1265dp-5, 0x1.85c4ee79cc258p-4,
                                                   0x1.fe7af2bad386ap-4, 0x1.325f61bca3cbfp-3, 0x1.5a6ebbb5a75fcp-3,
                                                   0x1.75f8c77e0c00fp-3, 0x1.83feae80e4dfcp-3};

}  // namespace renyi
