// Many points: those that expand are grouped by route and by the number of terms they are expected to take, and go
// through vector lanes together; every other point goes alone. The bits are those of one point at a time.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "renyi/loss/sampled_gaussian.hpp"
#include "renyi/loss/sampled_gaussian_expansion.hpp"

namespace renyi {

namespace {

constexpr std::size_t kChunk = 512;  // points sorted at a time, a multiple of kLanes
constexpr std::size_t kKeys = 256;   // routes times numbers of terms
constexpr std::size_t kFew = 4;      // that many are done faster one by one

struct Points {
    const double *q, *sigma, *alpha;
};

struct Chunk {
    std::array<Expansion, kChunk> expansion;
    std::array<int, kChunk> terms;
    std::array<std::uint16_t, kChunk> order;  // of those that expand, by key
};

// How many take the left route, and how many either.
struct Grouped {
    std::size_t left, all;
};

// kLanes points, gathered from where index_of says.
struct Gathered {
    alignas(64) double q[kLanes], sigma[kLanes], alpha[kLanes];

    template <class IndexOf>
    Gathered(const Points& p, IndexOf index_of) noexcept {
        for (std::size_t i = 0; i < kLanes; ++i) {
            const std::size_t from = index_of(i);
            q[i] = p.q[from], sigma[i] = p.sigma[from], alpha[i] = p.alpha[from];
        }
    }
};

void find_routes(const Points& p, std::size_t count, Chunk& c) noexcept {
    for (std::size_t i = 0; i < count; i += kLanes) {
        const Gathered g(p, [&](std::size_t lane) { return std::min(i + lane, count - 1); });
        expansions_of(g.q, g.sigma, g.alpha, &c.expansion[i], &c.terms[i]);
    }
}

std::size_t key_of(const Chunk& c, std::size_t i) noexcept {
    return (c.expansion[i] == Expansion::left ? 0 : kKeys / 2) + static_cast<std::size_t>(c.terms[i]);
}

Grouped group(Chunk& c, std::size_t count) noexcept {
    std::array<std::uint16_t, kKeys + 1> start{};
    for (std::size_t i = 0; i < count; ++i) {
        if (c.expansion[i] != Expansion::none) ++start[key_of(c, i) + 1];
    }
    for (std::size_t k = 0; k < kKeys; ++k) start[k + 1] = static_cast<std::uint16_t>(start[k + 1] + start[k]);
    const Grouped sizes{start[kKeys / 2], start[kKeys]};
    for (std::size_t i = 0; i < count; ++i) {
        if (c.expansion[i] != Expansion::none) c.order[start[key_of(c, i)]++] = static_cast<std::uint16_t>(i);
    }
    return sizes;
}

// One route, the points at order[first ... last-1]; those that do not converge are handed back.
void expand(const Points& p, Expansion expansion, std::size_t first, std::size_t last, Chunk& c,
            Certified* out) noexcept {
    std::array<Certified, kLanes> found;
    for (; first < last; first += kLanes) {
        const std::size_t count = std::min<std::size_t>(kLanes, last - first);
        const Gathered g(p, [&](std::size_t lane) { return c.order[first + std::min(lane, count - 1)]; });
        log_a_expanded(expansion, g.q, g.sigma, g.alpha, found.data());
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t to = c.order[first + i];
            out[to] = found[i];
            if (std::isnan(found[i].value)) c.expansion[to] = Expansion::none;
        }
    }
}

}  // namespace

void log_a(const double* q, const double* sigma, const double* alpha, std::size_t size, Certified* out) noexcept {
    if (size <= kFew) {
        for (std::size_t i = 0; i < size; ++i) out[i] = log_a(q[i], sigma[i], alpha[i]);
        return;
    }
    Chunk c;
    for (std::size_t done = 0; done < size; done += kChunk) {
        const Points p{q + done, sigma + done, alpha + done};
        const std::size_t count = std::min(kChunk, size - done);
        find_routes(p, count, c);
        const Grouped sizes = group(c, count);
        expand(p, Expansion::left, 0, sizes.left, c, out + done);
        expand(p, Expansion::right, sizes.left, sizes.all, c, out + done);
        for (std::size_t i = 0; i < count; ++i) {
            if (c.expansion[i] == Expansion::none) out[done + i] = log_a_unexpanded(p.q[i], p.sigma[i], p.alpha[i]);
        }
    }
}

}  // namespace renyi
