#pragma once

// First checks for a GPU that was not used before, each of which takes seconds: what the GPU is,
// what a replay costs, whether rates match its data sheet, and whether each kind of kernel is
// correct and how it is run. They are the steps of the program gpu_smoke.cc; tests/gpu.sh runs each
// in a process of its own.

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/kernels/backend.h"
#include "core/kernels/cuda/interface/gpu.h"
#include "core/kernels/cuda/run_journal.h"
#include "core/model/graph.h"
#include "core/timing/store.h"

namespace quotient::kernels::cuda::smoke {

// A line of the table of results.
struct Row {
  std::string name;
  std::string text;
  bool passed = true;
  friend void PrintTo(const Row& row, std::ostream* out) { *out << row.name << ": " << row.text; }
};
using Rows = std::vector<Row>;

// The GPU, its libraries, and the clock rate of idle multiprocessors.
Rows DeviceRows(Gpu& gpu);

// The CUDA libraries that this process has loaded, with their files.
Rows LibraryRows();

// Microseconds of a capture and of a replay, on the host and on the device, with and without
// reading the clock, and the gap between the kernels of a replay.
absl::StatusOr<Rows> ReplayRows(Gpu& gpu);

// The rates of a copy and of a matrix product in bfloat16, compared with the GPU's facts. A rate
// that is far too low or too high indicates a wrong unit or clock.
struct RateSizes {
  int64_t copy_bytes = int64_t{1} << 30;
  int64_t product = 8192;  // Rows, columns and depth.
};
absl::StatusOr<Rows> RateRows(Gpu& gpu, const RateSizes& sizes);

// The families of kernels, the most informative ones first.
std::vector<std::string> FamilyNames();

// Follows a step, so that what it found is known even if it does not come back.
struct Watcher {
  RunJournal* journal = nullptr;                   // May be null.
  std::function<void(const std::string&)> trying;  // A way to run a kernel, before its first run.
  std::function<void(const Row&)> found;           // A row, as soon as it is known.
};

// Runs every kernel of the family in every way, and compares the results with the reference
// evaluator's. The rows show the number of ways, how many are compiled at run time, the largest
// error, the time of the fastest way over `runs` runs in a row, and how long it took to prepare all
// ways twice, the second time with a filled code cache. A wrong result does not pass, nor does a
// contraction that only the host can run. An error is a row that does not pass; only the loss of
// the GPU ends the step. Ways that the journal bars do not run.
absl::StatusOr<Rows> KernelRows(Gpu& gpu, absl::string_view family, int runs,
                                const Watcher& watcher);

// Runs every way that consists of Quotient's own kernels alone, once: for tools under which a
// library's kernels would take minutes. The rows name the ways and their errors.
absl::StatusOr<Rows> OwnRows(Gpu& gpu, absl::string_view family);

// Runs a whole graph with the fastest plans. The rows show the ways used, the norm of the error,
// and the predicted and measured times. `store` keeps the timings.
absl::StatusOr<Rows> NetworkRows(const model::Graph& graph, const Backend& backend,
                                 double tolerance, int threads, timing::TimingStore* store);

// --- Files of timings (core/timing/record.h)

// Lists the devices in the file, how many kernels each has, and whether it is one of `own`, differs
// from one of these only in the patch level of the driver, or is another one. Devices are given by
// the fingerprints under which timings are stored.
absl::StatusOr<Rows> TimingRows(const std::string& path, const std::vector<std::string>& own);

// Copies timings of devices that differ from one of `own` only in the patch level of the driver to
// that one. The better of two timings is kept. Returns how many kernels were added.
absl::StatusOr<int> MergeDrivers(const std::string& path, const std::vector<std::string>& own);

}  // namespace quotient::kernels::cuda::smoke
