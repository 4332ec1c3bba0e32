#pragma once

// Journal: how a result follows from its model. FORMAT.md has its text, and what it proves.
//
// A result begins with the e-graph of the model as it was prepared. Rewrites are made in it one
// after the other, e-nodes are chosen, and the constants of the graph of these are folded.

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/blob_id.h"

namespace quotient::journal {

// An e-node, and so its class, by a name that stays the same.
struct Place {
  enum class Sort : uint8_t {
    kValue,   // That of the value with this name in the model.
    kNode,    // That of a node which is not understood: the one that produces this value.
    kAbsent,  // The operand that is left out.
    kMade,    // The e-node number `index` of those that rewrite number `rewrite` made, from 0.
  };
  Sort sort = Sort::kValue;
  std::string name;
  uint32_t rewrite = 0;
  uint32_t index = 0;
  friend auto operator<=>(const Place&, const Place&) = default;
};

struct Rewrite {
  std::string rule;
  // The classes of the match, in the rule's own order: what it makes equal, and its operands.
  std::vector<Place> at;
  uint32_t alternative = 0;  // Which of the rule's left sides matches.
  // Which of the matches with these classes, in the order in which they are found. Mostly there is
  // one.
  uint32_t which = 0;
  // How many rewrites had been made when it was found to match, at most those before it. A
  // search finds many matches and makes some of them later, when the rule might not match any more.
  uint32_t found_after = 0;
  friend bool operator==(const Rewrite&, const Rewrite&) = default;
};

// How the graph of a model becomes another one.
struct Rewriting {
  std::vector<Rewrite> rewrites;
  // The e-nodes that were chosen in classes where that is not the one that came first.
  std::vector<Place> chosen;
  std::vector<std::vector<Place>> splits;  // Chosen Slices that are one Split in the graph.
  friend bool operator==(const Rewriting&, const Rewriting&) = default;
};

// What the model was made before the rewrites, and how the result is written.
struct Preparation {
  std::map<std::string, std::vector<int64_t>> shapes;  // As in optimize::Options.
  // Numbers for the dims that are still open, all of them.
  std::map<std::string, std::vector<int64_t>> measure_shapes;
  bool freeze_initializers = false;
  std::vector<std::string> kept_values;
  bool assume_finite_inputs = false;
  int64_t max_folded_bytes = 0;
  int max_opset = 0;                 // The newest that a rewrite or the result may need.
  bool names_are_forgotten = false;  // Dims with the same name may differ.
  bool annotates_types = false;      // How the result is written: see onnx::WriteOptions.
  bool constants_as_initializers = false;
  std::string external_location;  // Of the result's external data, if it has any.
  friend bool operator==(const Preparation&, const Preparation&) = default;
};

// What the job said of its result. It is not needed to replay, and replaying does not prove it.
struct Remarks {
  std::string device;
  // The check against the original, as in report::Verification.
  double max_relative_error = 0;
  double tolerance = 0;
  int64_t inputs = 0;
  // What was saved where rules rewrote together, in microseconds as predicted.
  struct Saving {
    std::vector<std::string> rules;
    std::vector<std::string> sites;  // Names of nodes of the model.
    double us = 0;
    friend bool operator==(const Saving&, const Saving&) = default;
  };
  std::vector<Saving> savings;
  friend bool operator==(const Remarks&, const Remarks&) = default;
};

struct Journal {
  std::string engine;  // The version that made it. No other one can replay it.
  BlobId model;        // The model's file.
  // Nullopt if the model came back as it was.
  struct Derivation {
    Preparation preparation;
    Rewriting rewriting;
    BlobId model;                         // The file that results.
    std::optional<BlobId> external_data;  // Its external data, if it has any.
    friend bool operator==(const Derivation&, const Derivation&) = default;
  };
  std::optional<Derivation> derivation;
  Remarks remarks;
  friend bool operator==(const Journal&, const Journal&) = default;
};

// Equal journals have equal texts.
std::string ToText(const Journal& journal);

// Reads what ToText writes. The text need not be trusted. JOURNAL_INVALID, naming the line, for any
// other text.
absl::StatusOr<Journal> FromText(absl::string_view text);

}  // namespace quotient::journal
