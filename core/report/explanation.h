#pragma once

// What a runtime made of a model, and why: a chapter of the report, on devices that optimize models
// by themselves. README.md explains its parts.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace quotient::report {

struct Report;

// Kernels of the original that compute the same operators, each of them several nodes.
struct FusedKernels {
  std::string operators;  // Of the model: "Conv + BatchNormalization + Relu".
  std::string kernel;     // Of the runtime: "Conv (nchwc)".
  int64_t places = 0;
  double us = 0;  // The predicted time of all of them.
  bool estimated = false;
};

// What Quotient did about a place.
enum class Remedy {
  kNone,       // No graph that was tried has other kernels there.
  kTried,      // One that was not taken has.
  kRewritten,  // The result has.
};
absl::string_view RemedyName(Remedy remedy);  // "none", "tried", "rewritten"

// What Quotient did about places, and by which rules.
struct WhatWasDone {
  Remedy remedy = Remedy::kNone;
  std::vector<std::string> rules;  // Empty also if only what is around these places was rewritten.
  // What was predicted to be saved in the regions of these places, by the graph that has them
  // rewritten. Other findings may be in the same regions.
  double saved_us = 0;
};

// Kernels of the original that stand alone where a small difference keeps the runtime from making
// one kernel of them and their neighbours, or that run in a slower layout.
struct MissedFusion {
  std::string what;    // "Mul behind Conv"
  std::string reason;  // In one word, for programs; README.md lists them.
  std::string text;    // A phrase: "the constant is the first operand".
  // A name of a node for each place, and the predicted time of their kernels.
  std::vector<std::string> sites;
  double us = 0;
  bool estimated = false;
  WhatWasDone done;
};

// A rule whose rewrites leave the kernels as they are: the runtime makes them itself, or undoes
// them.
struct RuntimeRewrite {
  std::string rule;
  int64_t places = 0;
};

// What the device reached at best.
struct Bandwidth {
  double bytes = 0;         // What a kernel reads and writes.
  double bytes_per_us = 0;  // How fast, if it is so much.
};
struct Peak {
  double operations_per_us = 0;      // Additions and multiplications of matrix products.
  std::vector<Bandwidth> bandwidth;  // By falling bandwidth: caches, then memory.
  double start_us = 0;               // What a kernel takes that does next to nothing.
};

// Equal kernels of the original, and what they would take at the peak.
struct KernelsBelowPeak {
  std::string kernel;
  std::string operands;  // As in ProfiledKernel.
  std::string site;      // The node of the first of them. Empty for changes of layout.
  int64_t places = 0;
  double us = 0;
  double at_peak_us = 0;  // At most `us`.
  std::string bound;      // What takes that time: "arithmetic", "memory", "start".
  bool estimated = false;
  WhatWasDone done;

  double share() const { return us > 0 ? at_peak_us / us : 1; }
};

// Where the predicted time of a graph goes.
struct TimeShares {
  double us = 0;
  double products_us = 0;          // In kernels that compute convolutions and matrix products.
  double products_at_peak_us = 0;  // What these kernels would take at the peak.
  double missed_us = 0;            // In the kernels of MissedFusion.
};

struct Explanation {
  std::vector<FusedKernels> fused;  // Those with the most time first, as below.
  std::vector<MissedFusion> missed;
  std::vector<RuntimeRewrite> by_runtime;    // Those at most places first.
  std::optional<Peak> peak;                  // Unset if it could not be measured.
  std::vector<KernelsBelowPeak> below_peak;  // The largest loss first.
  TimeShares original;
  TimeShares result;  // Of what is returned.
};

// What can still be gained.
enum class Prospect {
  kAtLimit,       // Products take nearly all of the time, near the peak.
  kUpToKernels,   // Products take nearly all of the time, farther from the peak.
  kOtherKernels,  // Other kernels have a notable share.
  kUnknown,       // Nothing is known of the kernels.
};
absl::string_view ProspectName(Prospect prospect);  // "at_limit", "up_to_kernels", ...
Prospect ProspectOf(const Explanation& explanation);
// One or two sentences.
std::string VerdictText(const Explanation& explanation);

// JSON as a part of the report's. Reading fails as nlohmann::json does, by throwing.
nlohmann::ordered_json ToValue(const Explanation& explanation);
void FromValue(const nlohmann::ordered_json& json, Explanation* explanation);

// What `quotient explain` prints of a report that has an explanation: lines for a terminal, or JSON
// for programs.
std::string ExplanationText(const Report& report);
std::string ExplanationJson(const Report& report);
// The chapter of the page. Empty if the report has no explanation.
std::string ExplanationSection(const Report& report);

}  // namespace quotient::report
