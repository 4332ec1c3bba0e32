#include "core/ops/gemm.h"

#include <algorithm>
#include <vector>

#include "core/base/parallel.h"

// The result is cut into tiles that fit the second-level cache together with the pieces of the
// factors that they need; a tile is one unit of work for a thread. For each block of k, the pieces
// are packed into panels as high (left) or wide (right) as the register block, so the innermost
// loop reads both sequentially:
//
//               n                          panel of the left piece, kMr = 6 rows:
//          +--------+                        a0k0 a1k0 .. a5k0 a0k1 a1k1 ..
//        m |  tile  |  = sum over kBlockK  panel of the right piece, kNr = 8 columns:
//          +--------+                        k0b0 k0b1 .. k0b7 k1b0 k1b1 ..

namespace quotient::ops {
namespace {

constexpr int64_t kMr = 6;
constexpr int64_t kNr = 8;
constexpr int64_t kMaxTileM = 32 * kMr;
constexpr int64_t kMaxTileN = 32 * kNr;
constexpr int64_t kBlockK = 256;

int64_t Panels(int64_t count, int64_t width) { return (count + width - 1) / width; }

// Cuts the result into as few tiles as the maximum size allows, of about equal size.
struct Tiling {
  explicit Tiling(const GemmSize& size)
      : m(TileLength(size.m, kMaxTileM, kMr)),
        n(TileLength(size.n, kMaxTileN, kNr)),
        m_tiles(Panels(size.m, m)),
        n_tiles(Panels(size.n, n)) {}

  static int64_t TileLength(int64_t length, int64_t max, int64_t multiple) {
    const int64_t tiles = std::max<int64_t>(1, Panels(length, max));
    return std::max<int64_t>(1, Panels(Panels(length, tiles), multiple)) * multiple;
  }

  int64_t m, n;
  int64_t m_tiles, n_tiles;
};

// Adds a product to a kMr x kNr block. Processes `columns` vectors of `bytes` bytes at a time, as
// many as the registers of the target hold. Uses the compiler's vector types instead of intrinsics.
template <int bytes, int columns>
[[gnu::always_inline]] inline void MultiplyPanels(int64_t k, const double* left,
                                                  const double* right, double* block) {
  typedef double Vector __attribute__((vector_size(bytes), aligned(8), may_alias));
  constexpr int lanes = bytes / sizeof(double);
  for (int first = 0; first < kNr; first += columns * lanes) {
    Vector sums[kMr][columns];
    for (int i = 0; i < kMr; ++i) {
      for (int j = 0; j < columns; ++j) {
        sums[i][j] = *reinterpret_cast<const Vector*>(block + i * kNr + first + j * lanes);
      }
    }
    const double* l = left;
    const double* r = right + first;
    for (int64_t p = 0; p < k; ++p, l += kMr, r += kNr) {
      Vector factors[columns];
#pragma GCC unroll 8
      for (int j = 0; j < columns; ++j) {
        factors[j] = *reinterpret_cast<const Vector*>(r + j * lanes);
      }
#pragma GCC unroll 8
      for (int i = 0; i < kMr; ++i) {
#pragma GCC unroll 8
        for (int j = 0; j < columns; ++j) sums[i][j] += factors[j] * l[i];
      }
    }
    for (int i = 0; i < kMr; ++i) {
      for (int j = 0; j < columns; ++j) {
        *reinterpret_cast<Vector*>(block + i * kNr + first + j * lanes) = sums[i][j];
      }
    }
  }
}

using PanelKernel = void (*)(int64_t k, const double* left, const double* right, double* block);

void MultiplyPanelsPortable(int64_t k, const double* left, const double* right, double* block) {
  MultiplyPanels<16, 2>(k, left, right, block);
}

#ifdef __x86_64__
// AVX2 without FMA, because fused operations would make results differ between machines.
__attribute__((target("avx2"))) void MultiplyPanelsAvx2(int64_t k, const double* left,
                                                        const double* right, double* block) {
  MultiplyPanels<32, 2>(k, left, right, block);
}
#endif

PanelKernel ChooseKernel() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2")) return MultiplyPanelsAvx2;
#endif
  return MultiplyPanelsPortable;
}

// A piece of one factor: `count` indices starting at `outer`, and `depth` values of k starting at
// `inner`.
struct Piece {
  int64_t batch;
  int64_t outer;
  int64_t count;
  int64_t inner;
  int64_t depth;
};

// Each row runs along k and fills one column of a panel.
void PackOuterRows(const GemmOperand& operand, const Piece& piece, int64_t width,
                   std::vector<double>& row, double* out) {
  row.resize(piece.depth);
  for (int64_t i = 0; i < Panels(piece.count, width) * width; ++i) {
    double* column = out + (i / width) * width * piece.depth + i % width;
    if (i < piece.count) {
      operand.read(piece.batch, piece.outer + i, piece.inner, row);
      for (int64_t p = 0; p < piece.depth; ++p) column[p * width] = row[p];
    } else {
      for (int64_t p = 0; p < piece.depth; ++p) column[p * width] = 0;
    }
  }
}

// Each row has one k and runs across all panels.
void PackInnerRows(const GemmOperand& operand, const Piece& piece, int64_t width,
                   std::vector<double>& row, double* out) {
  const int64_t panels = Panels(piece.count, width);
  row.assign(panels * width, 0);
  for (int64_t p = 0; p < piece.depth; ++p) {
    operand.read(piece.batch, piece.inner + p, piece.outer, {row.data(), size_t(piece.count)});
    for (int64_t panel = 0; panel < panels; ++panel) {
      std::copy_n(row.data() + panel * width, width, out + (panel * piece.depth + p) * width);
    }
  }
}

void Pack(const GemmOperand& operand, const Piece& piece, int64_t width, std::vector<double>& row,
          double* out) {
  if (operand.rows == GemmOperand::Rows::kOuter) {
    PackOuterRows(operand, piece, width, row, out);
  } else {
    PackInnerRows(operand, piece, width, row, out);
  }
}

// Computes tiles one after the other, with buffers of one thread.
class TileWorker {
 public:
  TileWorker(const GemmSize& size, const Tiling& tiling, const GemmOperand& left,
             const GemmOperand& right, const GemmWrite& write, PanelKernel kernel)
      : size_(size), tiling_(tiling), left_(left), right_(right), write_(write), kernel_(kernel) {
    const int64_t k = std::min(kBlockK, size.k);
    left_panels_.resize(tiling.m * k);
    right_panels_.resize(tiling.n * k);
    blocks_.resize(tiling.m * tiling.n);
  }

  void Compute(int64_t tile) {
    const int64_t batch = tile / (tiling_.m_tiles * tiling_.n_tiles);
    const int64_t m0 = tile / tiling_.n_tiles % tiling_.m_tiles * tiling_.m;
    const int64_t n0 = tile % tiling_.n_tiles * tiling_.n;
    const int64_t m = std::min(tiling_.m, size_.m - m0);
    const int64_t n = std::min(tiling_.n, size_.n - n0);
    std::fill(blocks_.begin(), blocks_.end(), 0.0);
    for (int64_t k0 = 0; k0 < size_.k; k0 += kBlockK) {
      const int64_t k = std::min(kBlockK, size_.k - k0);
      Pack(left_, {batch, m0, m, k0, k}, kMr, row_, left_panels_.data());
      Pack(right_, {batch, n0, n, k0, k}, kNr, row_, right_panels_.data());
      MultiplyPieces(Panels(m, kMr), Panels(n, kNr), k);
    }
    WriteTile(batch, m0, m, n0, n);
  }

 private:
  // A panel of the right factor stays in the first-level cache while the left ones are read.
  void MultiplyPieces(int64_t m_panels, int64_t n_panels, int64_t k) {
    for (int64_t j = 0; j < n_panels; ++j) {
      for (int64_t i = 0; i < m_panels; ++i) {
        kernel_(k, left_panels_.data() + i * kMr * k, right_panels_.data() + j * kNr * k,
                Block(i, j, n_panels));
      }
    }
  }

  void WriteTile(int64_t batch, int64_t m0, int64_t m, int64_t n0, int64_t n) {
    const int64_t n_panels = Panels(n, kNr);
    row_.resize(n_panels * kNr);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n_panels; ++j) {
        std::copy_n(Block(i / kMr, j, n_panels) + (i % kMr) * kNr, kNr, row_.data() + j * kNr);
      }
      write_(batch, m0 + i, n0, {row_.data(), size_t(n)});
    }
  }

  double* Block(int64_t i, int64_t j, int64_t n_panels) {
    return blocks_.data() + (i * n_panels + j) * kMr * kNr;
  }

  const GemmSize& size_;
  const Tiling& tiling_;
  const GemmOperand& left_;
  const GemmOperand& right_;
  const GemmWrite& write_;
  const PanelKernel kernel_;
  std::vector<double> left_panels_;
  std::vector<double> right_panels_;
  std::vector<double> blocks_;  // The tile as kMr x kNr blocks.
  std::vector<double> row_;
};

}  // namespace

void Gemm(const GemmSize& size, const GemmOperand& left, const GemmOperand& right,
          const GemmWrite& write, int threads) {
  static const PanelKernel kernel = ChooseKernel();
  const Tiling tiling(size);
  // Starting a thread pays from about a quarter of a million multiplications.
  const int64_t tile_cost = std::max<int64_t>(1, tiling.m * tiling.n * size.k);
  const int64_t grain = (int64_t{1} << 18) / tile_cost + 1;
  ParallelFor(size.batch * tiling.m_tiles * tiling.n_tiles, grain, threads,
              [&](int64_t begin, int64_t end) {
                TileWorker worker(size, tiling, left, right, write, kernel);
                for (int64_t tile = begin; tile < end; ++tile) worker.Compute(tile);
              });
}

}  // namespace quotient::ops
