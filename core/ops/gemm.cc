#include "core/ops/gemm.h"

#include <algorithm>
#include <atomic>
#include <memory>

#include "core/base/parallel.h"

// The result is cut into tiles that fit the second-level cache together with the pieces of the
// factors that they need; a tile is one unit of work for a thread. For each block of k, the pieces
// are packed into panels as high (left) or wide (right) as the register block, so the innermost
// loop reads both sequentially:
//
//               n                          panel of the left piece, kMr = 6 rows:
//          +--------+                        a0k0 a1k0 .. a5k0 a0k1 a1k1 ..
//        m |  tile  |  = sum over blocks   panel of the right piece, kNr = 8 columns:
//          +--------+                        k0b0 k0b1 .. k0b7 k1b0 k1b1 ..

namespace quotient::ops {
namespace {

constexpr int64_t kMr = 6;
constexpr int64_t kNr = 8;
constexpr int64_t kMaxTileM = 32 * kMr;
constexpr int64_t kMaxTileN = 32 * kNr;
// Elements of a tile, and of the piece of the right factor that it needs at a time.
constexpr int64_t kMostOfTile = kMaxTileM * kMaxTileN;
constexpr int64_t kMostOfPiece = 256 * kMaxTileN;
// A tile of few rows is wider, up to this: then the right factor is read in longer runs, and the
// time to read it is most of what such a product takes.
constexpr int64_t kMaxTileNOfFewRows = 2 * kMaxTileN;
// What pays for a thread and its buffers, in multiplications.
constexpr double kWorkOfThread = int64_t{1} << 18;

int64_t Panels(int64_t count, int64_t width) { return (count + width - 1) / width; }

// Cuts the result into tiles of about equal size: as few as the maximum size allows, and where
// tiles may be wide, no fewer than threads.
struct Tiling {
  Tiling(const GemmSize& size, int threads)
      : m(TileLength(size.m, Panels(size.m, kMaxTileM), kMr)), m_tiles(Panels(size.m, m)) {
    const int64_t most = std::clamp(kMostOfTile / m, kMaxTileN, kMaxTileNOfFewRows);
    const int64_t others = std::max<int64_t>(1, size.batch * m_tiles);
    const int64_t wanted = std::min(Panels(threads, others), Panels(size.n, kMaxTileN));
    n = TileLength(size.n, std::max(wanted, Panels(size.n, most)), kNr);
    n_tiles = Panels(size.n, n);
    k = std::clamp<int64_t>(kMostOfPiece / std::max(n, kMaxTileN), 1, std::max<int64_t>(size.k, 1));
  }

  static int64_t TileLength(int64_t length, int64_t tiles, int64_t multiple) {
    return std::max<int64_t>(1, Panels(Panels(length, std::max<int64_t>(1, tiles)), multiple)) *
           multiple;
  }

  int64_t m, n;  // Of a tile.
  int64_t k;     // Of the pieces that are packed at a time.
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

// Each row runs along k and fills one column of a panel. `rows` holds `width` rows.
template <int64_t width>
void PackOuterRows(const GemmOperand& operand, const Piece& piece, double* rows, double* out) {
  for (int64_t first = 0; first < piece.count; first += width) {
    for (int64_t i = 0; i < width; ++i) {
      const std::span<double> row(rows + i * piece.depth, static_cast<size_t>(piece.depth));
      if (first + i < piece.count) {
        operand.read(piece.batch, piece.outer + first + i, piece.inner, row);
      } else {
        std::ranges::fill(row, 0.0);
      }
    }
    for (int64_t p = 0; p < piece.depth; ++p, out += width) {
      for (int64_t i = 0; i < width; ++i) out[i] = rows[i * piece.depth + p];
    }
  }
}

// Each row has one k and runs across all panels. `row` holds one, up to the end of a panel.
template <int64_t width>
void PackInnerRows(const GemmOperand& operand, const Piece& piece, double* row, double* out) {
  const int64_t panels = Panels(piece.count, width);
  std::fill(row + piece.count, row + panels * width, 0.0);
  for (int64_t p = 0; p < piece.depth; ++p) {
    operand.read(piece.batch, piece.inner + p, piece.outer,
                 {row, static_cast<size_t>(piece.count)});
    for (int64_t panel = 0; panel < panels; ++panel) {
      std::copy_n(row + panel * width, width, out + (panel * piece.depth + p) * width);
    }
  }
}

template <int64_t width>
void Pack(const GemmOperand& operand, const Piece& piece, double* rows, double* out) {
  if (operand.rows == GemmOperand::Rows::kOuter) {
    PackOuterRows<width>(operand, piece, rows, out);
  } else {
    PackInnerRows<width>(operand, piece, rows, out);
  }
}

// Computes tiles one after the other, with buffers of one thread.
class TileWorker {
 public:
  TileWorker(const GemmSize& size, const Tiling& tiling, const GemmOperand& left,
             const GemmOperand& right, const GemmWrite& write, PanelKernel kernel)
      : size_(size),
        tiling_(tiling),
        left_(left),
        right_(right),
        write_(write),
        kernel_(kernel),
        left_panels_(NewBuffer(tiling.m * tiling.k)),
        right_panels_(NewBuffer(tiling.n * tiling.k)),
        blocks_(NewBuffer(tiling.m * tiling.n)),
        rows_(NewBuffer(std::max({tiling.m, tiling.n, kNr * tiling.k}))) {}

  void Compute(int64_t tile) {
    const int64_t batch = tile / (tiling_.m_tiles * tiling_.n_tiles);
    const int64_t m0 = tile / tiling_.n_tiles % tiling_.m_tiles * tiling_.m;
    const int64_t n0 = tile % tiling_.n_tiles * tiling_.n;
    const int64_t m = std::min(tiling_.m, size_.m - m0);
    const int64_t n = std::min(tiling_.n, size_.n - n0);
    std::fill_n(blocks_.get(), Panels(m, kMr) * Panels(n, kNr) * kMr * kNr, 0.0);
    for (int64_t k0 = 0; k0 < size_.k; k0 += tiling_.k) {
      const int64_t k = std::min(tiling_.k, size_.k - k0);
      Pack<kMr>(left_, {batch, m0, m, k0, k}, rows_.get(), left_panels_.get());
      Pack<kNr>(right_, {batch, n0, n, k0, k}, rows_.get(), right_panels_.get());
      MultiplyPieces(Panels(m, kMr), Panels(n, kNr), k);
    }
    WriteTile(batch, m0, m, n0, n);
  }

 private:
  // Without values: every element is written before it is read.
  static std::unique_ptr<double[]> NewBuffer(int64_t elements) {
    return std::make_unique_for_overwrite<double[]>(static_cast<size_t>(elements));
  }

  // A panel of the right factor stays in the first-level cache while the left ones are read.
  void MultiplyPieces(int64_t m_panels, int64_t n_panels, int64_t k) {
    for (int64_t j = 0; j < n_panels; ++j) {
      for (int64_t i = 0; i < m_panels; ++i) {
        kernel_(k, left_panels_.get() + i * kMr * k, right_panels_.get() + j * kNr * k,
                Block(i, j, n_panels));
      }
    }
  }

  void WriteTile(int64_t batch, int64_t m0, int64_t m, int64_t n0, int64_t n) {
    const int64_t n_panels = Panels(n, kNr);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n_panels; ++j) {
        std::copy_n(Block(i / kMr, j, n_panels) + (i % kMr) * kNr, kNr, rows_.get() + j * kNr);
      }
      write_(batch, m0 + i, n0, {rows_.get(), static_cast<size_t>(n)});
    }
  }

  double* Block(int64_t i, int64_t j, int64_t n_panels) {
    return blocks_.get() + (i * n_panels + j) * kMr * kNr;
  }

  const GemmSize& size_;
  const Tiling& tiling_;
  const GemmOperand& left_;
  const GemmOperand& right_;
  const GemmWrite& write_;
  const PanelKernel kernel_;
  const std::unique_ptr<double[]> left_panels_;
  const std::unique_ptr<double[]> right_panels_;
  const std::unique_ptr<double[]> blocks_;  // The tile as kMr x kNr blocks.
  const std::unique_ptr<double[]> rows_;    // What is read before it is packed, or to be written.
};

// The threads that the product keeps busy, of those that it may use.
int WorthwhileThreads(const GemmSize& size, int threads) {
  const double work = static_cast<double>(size.batch) * static_cast<double>(size.m) *
                      static_cast<double>(size.n) * static_cast<double>(size.k);
  return static_cast<int>(std::clamp<double>(work / kWorkOfThread, 1, std::max(threads, 1)));
}

}  // namespace

void Gemm(const GemmSize& size, const GemmOperand& left, const GemmOperand& right,
          const GemmWrite& write, int threads) {
  static const PanelKernel kernel = ChooseKernel();
  threads = WorthwhileThreads(size, threads);
  const Tiling tiling(size, threads);
  const int64_t tiles = size.batch * tiling.m_tiles * tiling.n_tiles;
  // Each thread takes tile after tile, so that its buffers are made once.
  std::atomic<int64_t> next{0};
  ParallelFor(std::min<int64_t>(threads, tiles), 1, threads, [&](int64_t begin, int64_t end) {
    for (int64_t thread = begin; thread < end; ++thread) {
      TileWorker worker(size, tiling, left, right, write, kernel);
      for (int64_t tile; (tile = next.fetch_add(1, std::memory_order_relaxed)) < tiles;) {
        worker.Compute(tile);
      }
    }
  });
}

}  // namespace quotient::ops
