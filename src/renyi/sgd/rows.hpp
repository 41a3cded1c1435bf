// Rows of arrays with any strides, as tiles of contiguous memory, and the loops over a tile: sums of squares, and sums
// of rows times a factor. Sums without rounding in the additions: of rows on an integer grid, and of the gradients of
// an embedding (exact_sums.cpp).
//
// Squares are summed in double: squares of half, brain and single precision are exact there and neither overflow nor
// underflow. A sum has kSumLanes lanes, element j in lane j mod kSumLanes, which are added pairwise: the bits do not
// depend on the instruction set or on the address of a tile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace renyi {

constexpr std::size_t kTile = 1024;  // elements
constexpr std::size_t kSumLanes = 32;
constexpr std::size_t kRowsAtOnce = 8;

// Roundings on the way from an element of a tile to its sum: the square, the lanes, their tree.
constexpr double kTileRoundings = 1.0 + static_cast<double>(kTile / kSumLanes) + 5.0;

struct Half {
    std::uint16_t bits;
};

struct Brain {
    std::uint16_t bits;
};

enum class Element { half, single, twice, brain };  // IEEE binary16, 32, 64; bfloat16, the upper half of a binary32

constexpr std::size_t size_of(Element element) noexcept {
    return element == Element::brain ? 2 : std::size_t{2} << static_cast<int>(element);
}

// Every product is rounded to the precision of `sum` (products of doubles first to double), then added. Before it is
// added to a sum in double precision, it is rounded once more to a multiple of g, ties to even: shift is 3/2 2^52 g,
// and adding it to a product below 2^51 g in magnitude gives a range where the doubles are the multiples of g. With
// shift 0 it is not rounded again.
struct RowKernels {
    double (*sum_squares)(const void* row, std::size_t n);
    // The sum of ((double)x scale)^2.
    double (*sum_squares_scaled)(const void* row, std::size_t n, double scale);
    // The largest |x|; infinite or NaN if an element is.
    double (*largest)(const void* row, std::size_t n);
    // sum += factors[r] rows[r], r from 0 to count - 1 < kRowsAtOnce: each element of the sum is read and written once.
    // The factors must be numbers of the sum's precision.
    void (*add)(void* sum, const void* const* rows, const double* factors, std::size_t count, double shift,
                std::size_t n);
    // sum += factor (scale row), products in double.
    void (*add_scaled)(void* sum, const void* row, double factor, double scale, double shift, std::size_t n);
};

// Returns the kernels for rows of `element` and a sum in single (`wide_sum` false) or double precision.
const RowKernels& row_kernels(Element element, bool wide_sum) noexcept;

// total += part, n elements.
void add_sums(float* total, const float* part, std::size_t n) noexcept;
void add_sums(double* total, const double* part, std::size_t n) noexcept;

// The rows of one array: (rows, inner...), inner indices in C order. Strides are in bytes and of any sign.
struct RowArray {
    const char* data = nullptr;
    Element element = Element::single;
    std::ptrdiff_t row_stride = 0;
    std::vector<std::size_t> shape;  // inner axes, without those of length 1; adjacent axes are merged where possible
    std::vector<std::ptrdiff_t> strides;
    std::size_t size = 1;  // elements of a row
    bool contiguous = true;
    bool rows_are_close = false;  // whether rows are closer than elements, as in Fortran order

    RowArray() = default;
    // aligned: whether every element may be read in place.
    RowArray(const void* data, Element element, std::ptrdiff_t row_stride, const std::vector<std::size_t>& shape,
             const std::vector<std::ptrdiff_t>& strides, bool aligned);

    const char* at(std::size_t row, std::size_t first) const noexcept {
        return data + static_cast<std::ptrdiff_t>(row) * row_stride +
               static_cast<std::ptrdiff_t>(first * size_of(element));
    }
    std::size_t bytes_of_row() const noexcept { return size * size_of(element); }
};

// The number of close rows that are gathered together, so that a cache line across them is read once.
constexpr std::size_t kGatheredRows = 64;
// The distance of gathered rows in bytes: not a multiple of the page size, which would map all to the same cache set.
constexpr std::size_t kGatherPitch = kTile * sizeof(double) + 128;

// Rows of a tile, `pitch` bytes apart.
struct TileRows {
    const char* first;
    std::ptrdiff_t pitch;
};

// Returns tiles in place, or gathered in its own memory, where they are valid until the next call.
class RowReader {
public:
    explicit RowReader(bool gathers) : scratch_(gathers ? kGatheredRows * kGatherPitch : 0) {}

    // Elements [first, first + n), n <= kTile, of `rows` <= kGatheredRows rows.
    TileRows read(const RowArray& array, std::size_t row, std::size_t rows, std::size_t first, std::size_t n) noexcept;

private:
    std::vector<char> scratch_;
};

// Sums of rows on a grid: every entry of every row, times the row's factor, is rounded to the nearest multiple of the
// spacing, ties to even, before it is added, so the sum is an exact integer vector in units of the spacing.
//
// A row of exact norm at most C is added with norm at most C (1 + 2^-53) + sqrt(D) spacing / 2: the product is rounded
// once (in double), and the grid moves each of the D entries by at most half a spacing. The spacing is a power of two,
// so that dividing by it is exact.

// sum[j] += sum over i of round(factors[i] rows[i][j] / spacing), inverse_spacing a power of two. Rows of factor 0 are
// not read. Returns false if an entry is not finite or is 2^50 spacings or more: the sum is then not valid.
template <class Real>
bool add_to_grid(const Real* rows, const double* factors, std::size_t count, std::size_t dimension,
                 double inverse_spacing, std::int64_t* sum, int threads) noexcept;

// Sums of the gradients of an embedding, without a table for each record.
//
// A record looks up T rows of a table; gradients of equal tokens add up. The gradient of a record is
//     row v = sum of g_t over the t with token_t = v, in double precision, t ascending,
// so these numbers depend on the record alone; norms and sums are computed from them.
//
// Norm: the square of row v, column j, goes to lane j mod kLookupLanes; the lanes are added pairwise: at most
// T ceil(columns / kLookupLanes) + 6 roundings on any path.
// Sum: w x is rounded to double and then to a multiple of the spacing, as in RowKernels: shift is 3/2 2^52 g.

constexpr std::size_t kLookupLanes = 16;

struct Lookups {
    std::size_t rows = 0, times = 0, columns = 0;
    const std::int64_t* tokens = nullptr;  // rows x times, each the number of a row of the table
    const std::int64_t* order = nullptr;   // stable order of the times of each row by ascending token
    const void* gradients = nullptr;       // rows x times x columns, contiguous
    Element element = Element::single;     // single or twice
    std::size_t threads = 1;
};

// Computes the squared norm of every row; infinite or NaN where an element is, or where doubles overflow.
void lookup_squares(const Lookups& task, double* squares) noexcept;

// sum[v] += w row v, for all rows in their order; rows of weight 0 are not read.
void add_lookups(const Lookups& task, const double* weights, double spacing, double* sum) noexcept;

}  // namespace renyi
