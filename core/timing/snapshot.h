#pragma once

// A snapshot holds all kernel timings of one device, as a text file to be kept beside the models it
// is used for. With a snapshot, a search uses that device's kernel times on a machine without the
// device, and uses the same times on every run.
//
//   quotient-snapshot 2
//   device cpu
//   threads 4                       these are the device's kernels::PartitionOptions
//   channels-last true
//   native-storage false
//   fuses-attention false
//   runtime onnxruntime/16          only for runtimes that optimize graphs (RuntimeFusions)
//   fingerprint cpu; ...
//   protocol 4                      kProtocolVersion by which the kernels were timed
//   recorded 2026-03-14T09:26:53Z
//   engine 0.2.0                    version of Quotient that recorded it
//   kernel 12.34 12.5 12.61 9 ok k1 Relu{}(float32[4])->(float32[4]) threads=4 cold=0
//   kernel unsupported k1 Relu{}(int8[4])->(int8[4]) threads=4 cold=0
//   sha256 9f86d0...                of all bytes before this line
//
// The numbers of a kernel are its times min, q25 and median in microseconds, and the number of
// clean samples. Then comes its state, `ok` or `noisy` (TimingState); the rest of the line is its
// key. A kernel that the device cannot run is `unsupported` and has no numbers. Kernels are sorted
// by key and numbers are in their shortest form, so equal snapshots have equal texts.

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/kernels/partition.h"
#include "core/timing/store.h"

namespace quotient::timing {

// Longest text that is accepted. A kernel takes about 150 bytes.
inline constexpr int64_t kMaxSnapshotBytes = int64_t{32} << 20;

struct Snapshot {
  std::string device;  // The name that users give, such as "cpu".
  kernels::PartitionOptions partition;
  std::string fingerprint;  // Fingerprint of the device (kernels::DeviceFingerprint).
  int protocol = 0;
  int64_t recorded_unix_s = 0;
  std::string engine;
  // By kernel key. The state is never kFailed.
  std::map<std::string, Timing> timings;
};

// Converts a timing to the form in which snapshots hold it. Times are rounded to five significant
// digits, which is no less than a measurement's accuracy, and the spread is recomputed from them.
// The plan is dropped, since no kernel is run from a snapshot. A timing without a time keeps only
// its state.
Timing Rounded(const Timing& timing);

// Writes a snapshot. Its timings must be rounded and not kFailed, and its strings must not contain
// control characters.
std::string ToText(const Snapshot& snapshot);

// Reads what ToText wrote. For any other bytes returns OPTION_INVALID, naming the line and field.
absl::StatusOr<Snapshot> ParseSnapshot(absl::string_view text);

// Returns the time of recording as in the text: "2026-03-14T09:26:53Z".
std::string RecordedTime(const Snapshot& snapshot);

}  // namespace quotient::timing
