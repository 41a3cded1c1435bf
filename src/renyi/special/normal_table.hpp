// Made by tools/make_normal_table.py.
#pragma once

#include "renyi/fp/double_double.hpp"

namespace renyi {

// sqrt(2/pi) h e^(-s^2/2) at s = (n + 1/2) h, h = 1/2
constexpr DoubleDouble kMillsWeight[25] = {
    {0x1.8bf2ba104beccp-2, 0x1.c8c9f84d27939p-56},
    {0x1.345d5efad3415p-2, -0x1.c93a973fad7dap-56},
    {0x1.7610b9431f0c8p-3, -0x1.6247f9bc7ebb0p-57},
    {0x1.6164536bf162cp-4, -0x1.d7269a8bd03eap-59},
    {0x1.0402dfd3dc1a2p-5, -0x1.3a21096d96450p-59},
    {0x1.29fa54c6341e4p-7, -0x1.2352a0cbfcd48p-63},
    {0x1.09f38e18a2820p-9, 0x1.0e60af954930cp-63},
    {0x1.71b92ecaaa791p-12, -0x1.352f768acfff3p-66},
    {0x1.904afdde8cca3p-15, 0x1.0e020aeb4520ep-71},
    {0x1.518646fbb0c6cp-18, -0x1.902850dffdfcap-75},
    {0x1.bb4a8be266ce5p-22, -0x1.e7a79f791238bp-80},
    {0x1.c56b24c535bf5p-26, 0x1.9afe7f18b58cep-80},
    {0x1.6930a864fa47bp-30, 0x1.96d584341f3efp-84},
    {0x1.c027cdafdb7eep-35, -0x1.5fe319e8ebfbbp-89},
    {0x1.b10f57d25a805p-40, 0x1.6df9baa967153p-97},
    {0x1.45e8308d25d84p-45, -0x1.4826727bd3b50p-100},
    {0x1.7e07497086507p-51, 0x1.0ed010f1016c3p-105},
    {0x1.5cc20ab7773eap-57, -0x1.7735b370b5f31p-111},
    {0x1.efeabd09a4928p-64, 0x1.67f187d4f82cdp-120},
    {0x1.1297eab996abbp-70, -0x1.60d81b879793cp-124},
    {0x1.d9a671091cb73p-78, -0x1.7011145dc0b0cp-134},
    {0x1.3e24780766157p-85, 0x1.89bdbd5ae9cc5p-140},
    {0x1.4cd84d472f8e7p-93, 0x1.404afc6fd3f5cp-149},
    {0x1.0f330865c7fe2p-101, 0x1.74ee38504226dp-156},
    {0x1.582f5030c5829p-110, -0x1.4642f3ba93d3cp-164},
};

constexpr DoubleDouble kFourPi{0x1.921fb54442d18p+3, 0x1.1a62633145c07p-51};
constexpr DoubleDouble kSqrtTwoPi{0x1.40d931ff62706p+1, -0x1.a6a0d6f814637p-53};
constexpr DoubleDouble kInverseSqrtTwoPi{0x1.9884533d43651p-2, -0x1.cbc0d30ebfd15p-56};

}  // namespace renyi
