#include "renyi/pair/division.hpp"

namespace renyi {

namespace {

// (64/15) e^2 (15.9 2^k)^-2n / (1 - ...) < 2^-58 for (k, n) = (0, 8), (3, 5), (4, 4), (7, 3).
constexpr Rule kRules[] = {
    {3,
     {0x1.cda042f0236e1p-4, 0x1.0000000000000p-1, 0x1.c64bf7a1fb924p-1},
     {0x1.1c71c71c71c72p-2, 0x1.c71c71c71c71cp-2, 0x1.1c71c71c71c72p-2}},
    {4,
     {0x1.1c6490c2719ecp-4, 0x1.51ee013116102p-2, 0x1.5708ff6774f7fp-1, 0x1.dc736de7b1cc3p-1},
     {0x1.64340f7e7b66bp-3, 0x1.4de5f840c24cap-2, 0x1.4de5f840c24cap-2, 0x1.64340f7e7b66bp-3}},
    {5,
     {0x1.80498fd662cb6p-5, 0x1.d89b804cc91f6p-3, 0x1.0000000000000p-1, 0x1.89d91feccdb82p-1, 0x1.e7fb670299d35p-1},
     {0x1.e539ec36e038cp-4, 0x1.ea1da25ae415bp-3, 0x1.23456789abcdfp-2, 0x1.ea1da25ae415bp-3, 0x1.e539ec36e038cp-4}},
    {8,
     {0x1.454e34f533998p-6, 0x1.a06d536d82f88p-4, 0x1.e5dad4f9af698p-3, 0x1.a214dac30e32fp-2, 0x1.2ef5929e78e69p-1,
      0x1.86894ac19425ap-1, 0x1.cbf255924fa0fp-1, 0x1.f5d58e5856633p-1},
     {0x1.9ea1d04ca0374p-5, 0x1.c76fb531d2b96p-4, 0x1.413c50a255615p-3, 0x1.736360b199343p-3, 0x1.736360b199343p-3,
      0x1.413c50a255615p-3, 0x1.c76fb531d2b96p-4, 0x1.9ea1d04ca0374p-5}},
};

}  // namespace

const Rule& rule_for(double share_of_panel) noexcept {
    if (share_of_panel <= 0x1p-7) return kRules[0];
    if (share_of_panel <= 0x1p-4) return kRules[1];
    return share_of_panel <= 0x1p-3 ? kRules[2] : kRules[3];
}

}  // namespace renyi
