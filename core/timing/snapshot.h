#pragma once

// A snapshot: what is known of one device, as a file that is kept beside the models it is used for.
// With it a search goes by that device's kernel times where the device is not there, and by the
// same ones each time.
//
//   quotient-snapshot 2
//   device cpu
//   threads 4                       how its graphs are cut into kernels: kernels::PartitionOptions
//   channels-last true
//   native-storage false
//   fuses-attention false
//   fingerprint cpu; ...
//   protocol 2                      by which the kernels were timed
//   recorded 2026-03-14T09:26:53Z
//   engine 0.2.0                    that recorded it
//   kernel 12.34 12.5 12.61 9 ok k1 Relu{}(float32[4])->(float32[4]) threads=4 cold=0
//   kernel unsupported k1 Relu{}(int8[4])->(int8[4]) threads=4 cold=0
//   sha256 9f86d0...                of all bytes before this line
//
// The numbers of a kernel are the times min, q25 and median in microseconds and how many samples
// they are of; `noisy` stands for `ok` where the machine was never quiet; the rest of the line is
// its key. A kernel that the device cannot run is `unsupported`, and has no numbers. Kernels are
// sorted by key, numbers are in their shortest form: one snapshot has one text.

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/kernels/partition.h"
#include "core/timing/store.h"

namespace quotient::timing {

// No snapshot's text is longer; kernels take some 150 bytes.
inline constexpr int64_t kMaxSnapshotBytes = int64_t{32} << 20;

struct Snapshot {
  std::string device;  // as users name it: "cpu"
  kernels::PartitionOptions partition;
  std::string fingerprint;  // the device's
  int protocol = 0;
  int64_t recorded_unix_s = 0;
  std::string engine;
  // By kernel key; those without a time are kUnsupported.
  std::map<std::string, Timing> timings;
};

// Takes a timing into a snapshot: five digits say all that a measurement knows, and more would
// only make the text longer. The spread is what the rounded times say. The plan stays behind: it
// says how to run a kernel, which nobody does by a snapshot. Of what has no time only the state is
// left.
Timing Rounded(const Timing& timing);

// Of rounded timings, none of them kFailed; the texts within hold no control characters.
std::string ToText(const Snapshot& snapshot);

// Reads what ToText wrote. OPTION_INVALID naming line and field for anything else, whatever bytes
// they are.
absl::StatusOr<Snapshot> ParseSnapshot(absl::string_view text);

// "2026-03-14T09:26:53Z"
std::string RecordedTime(const Snapshot& snapshot);

}  // namespace quotient::timing
