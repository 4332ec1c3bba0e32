#pragma once

// The first questions to a GPU that nobody has used yet, each answered in seconds: what it is, what
// a replay costs, whether rates are those of its data sheet, and whether each kind of kernel is
// right and how it is run. gpu_smoke.cc has them as steps of a program, of which tests/gpu.sh runs
// one process each.

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/kernels/backend.h"
#include "core/kernels/cuda/gpu.h"
#include "core/model/graph.h"
#include "core/timing/store.h"

namespace quotient::kernels::cuda::smoke {

// A line of the table.
struct Row {
  std::string name;
  std::string text;
  bool passed = true;
  friend void PrintTo(const Row& row, std::ostream* out) { *out << row.name << ": " << row.text; }
};
using Rows = std::vector<Row>;

// What the GPU and its libraries are, and the clock that the multiprocessors idle at.
Rows DeviceRows(Gpu& gpu);

// CUDA's libraries that this process has loaded, with the files that they are from.
Rows LibraryRows();

// Microseconds of a capture and of a replay, on the host and on the device, without and with a look
// at the clock; the gap between kernels of one replay.
absl::StatusOr<Rows> ReplayRows(Gpu& gpu);

// The rate of a copy and of a product of bfloat16, against what the GPU's facts allow: a rate that
// is far below, or above, tells of a wrong unit or clock.
struct RateSizes {
  int64_t copy_bytes = int64_t{1} << 30;
  int64_t product = 8192;  // rows, columns and depth
};
absl::StatusOr<Rows> RateRows(Gpu& gpu, const RateSizes& sizes);

// The families of kernels, in the order in which they tell most.
std::vector<std::string> FamilyNames();

// Every kernel of the family by every way to run it, against the reference evaluation: the number
// of ways, how many are compiled at run time, the largest error, the time of the fastest, and how
// long it took to prepare them, twice (the second time from what the GPU's code cache kept). A way
// that is off, or a contraction that only the host can do, does not pass.
// The time is that of `runs` in a row.
absl::StatusOr<Rows> KernelRows(Gpu& gpu, absl::string_view family, int runs);

// A whole graph by the fastest plans: ways used, the norm of the error, predicted and measured
// time. `store` keeps the timings.
absl::StatusOr<Rows> NetworkRows(const model::Graph& graph, const Backend& backend,
                                 double tolerance, int threads, timing::TimingStore* store);

// --- Files of timings (core/timing/record.h)

// The devices in the file, how many kernels each has, and whether it is one of `own`, one that
// differs from it only in the patch level of the driver, or another one. Fingerprints are those
// that timings are stored under.
absl::StatusOr<Rows> TimingRows(const std::string& path, const std::vector<std::string>& own);

// Adds what devices have that differ from one of `own` only in the patch level of the driver to
// that one; the better of two timings counts. Returns how many kernels were added.
absl::StatusOr<int> MergeDrivers(const std::string& path, const std::vector<std::string>& own);

// How often each way to run kernels is the fastest, by device. A contraction that runs on the host
// does not pass.
absl::StatusOr<Rows> WayRows(const std::string& path);

// The part of a plan's name that names the program: "cudnn_conv:engine=3" gives "cudnn_conv".
std::string ProgramOf(absl::string_view plan);

}  // namespace quotient::kernels::cuda::smoke
