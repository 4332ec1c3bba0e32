#include "tests/support/egraph/gym_file.h"

#include <zlib.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace quotient::testing {
namespace {

using Json = nlohmann::json;

// What a few compressed bytes may become. An e-graph has ids for all that such a text can name.
constexpr size_t kMaxTextBytes = size_t{1} << 27;

absl::Status Error(absl::string_view where, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(where, ": ", what));
}

// Ids are others' text of any length.
std::string Quote(absl::string_view id) {
  constexpr size_t kShown = 80;
  return absl::StrCat("\"", absl::CHexEscape(id.substr(0, kShown)),
                      id.size() > kShown ? "...\"" : "\"");
}

const std::string& TextOf(const Json& json) { return json.get_ref<const std::string&>(); }

// Null if `object` has no such member, or is no object.
const Json* Member(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

// The classes, numbered in the order in which e-nodes name them. Borrows the ids.
struct Classes {
  absl::flat_hash_map<absl::string_view, size_t> by_id;
  absl::flat_hash_map<absl::string_view, size_t> by_node;
};

absl::StatusOr<Classes> NumberClasses(const Json& nodes) {
  Classes classes;
  for (const auto& [id, node] : nodes.items()) {
    const std::string where = absl::StrCat("node ", Quote(id));
    if (!node.is_object()) return Error(where, "is no object");
    const Json* op = Member(node, "op");
    if (op == nullptr || !op->is_string()) return Error(where, "op is missing or no string");
    const Json* eclass = Member(node, "eclass");
    if (eclass == nullptr || !eclass->is_string()) {
      return Error(where, "eclass is missing or no string");
    }
    const size_t next = classes.by_id.size();
    classes.by_node[id] = classes.by_id.try_emplace(TextOf(*eclass), next).first->second;
  }
  return classes;
}

absl::StatusOr<double> CostOf(const Json& node, absl::string_view where) {
  const Json* cost = Member(node, "cost");
  if (cost == nullptr) return 1;
  if (cost->is_null()) return std::numeric_limits<double>::infinity();
  if (!cost->is_number()) return Error(where, "cost is no number");
  const double value = cost->get<double>();
  if (!(value >= 0 && std::isfinite(value))) return Error(where, "cost is negative or not finite");
  return value;
}

// `kind` is what an element is called in errors.
absl::StatusOr<std::vector<size_t>> LookUpAll(
    const Json& ids, const absl::flat_hash_map<absl::string_view, size_t>& classes,
    absl::string_view kind, absl::string_view where) {
  std::vector<size_t> found;
  for (const Json& id : ids) {
    if (!id.is_string()) return Error(where, absl::StrCat("a ", kind, " is no string"));
    const auto entry = classes.find(TextOf(id));
    if (entry == classes.end()) {
      return Error(where, absl::StrCat("unknown ", kind, " ", Quote(TextOf(id))));
    }
    found.push_back(entry->second);
  }
  return found;
}

absl::StatusOr<CaseNode> MakeNode(const std::string& id, const Json& node, const Classes& classes) {
  const std::string where = absl::StrCat("node ", Quote(id));
  CaseNode made = {.of = classes.by_node.at(id)};
  QUOTIENT_ASSIGN_OR_RETURN(made.cost, CostOf(node, where));
  const Json* children = Member(node, "children");
  if (children == nullptr) return made;
  if (!children->is_array()) return Error(where, "children is no array");
  QUOTIENT_ASSIGN_OR_RETURN(made.children, LookUpAll(*children, classes.by_node, "child", where));
  return made;
}

// Sums of costs are compared and subtracted: infinity minus infinity is no cost.
absl::Status CheckSum(const std::vector<CaseNode>& nodes) {
  double sum = 0;
  for (const CaseNode& node : nodes) {
    if (std::isfinite(node.cost)) sum += node.cost;
  }
  return std::isfinite(sum) ? absl::OkStatus() : Error("nodes", "the sum of the costs overflows");
}

absl::StatusOr<ExtractionCase> MakeCase(const Json& file) {
  const Json* members = Member(file, "nodes");
  if (members == nullptr || !members->is_object()) {
    return Error("nodes", "is missing or no object");
  }
  QUOTIENT_ASSIGN_OR_RETURN(const Classes classes, NumberClasses(*members));
  std::vector<CaseNode> nodes;
  for (const auto& [id, member] : members->items()) {
    QUOTIENT_ASSIGN_OR_RETURN(CaseNode node, MakeNode(id, member, classes));
    nodes.push_back(std::move(node));
  }
  QUOTIENT_RETURN_IF_ERROR(CheckSum(nodes));
  const Json* root_ids = Member(file, "root_eclasses");
  if (root_ids == nullptr || !root_ids->is_array() || root_ids->empty()) {
    return Error("root_eclasses", "is missing, empty or no array");
  }
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<size_t> roots,
                            LookUpAll(*root_ids, classes.by_id, "class", "root_eclasses"));
  return ExtractionCase(classes.by_id.size(), nodes, roots);
}

// No more than is needed to see that it is too long.
absl::StatusOr<std::string> ReadUncompressed(const std::string& path) {
  errno = 0;
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return absl::NotFoundError(std::strerror(errno));
  const auto close = absl::MakeCleanup([file] { gzclose(file); });
  std::string text;
  std::array<char, 1 << 16> piece;
  int size = 0;
  while (text.size() <= kMaxTextBytes && (size = gzread(file, piece.data(), piece.size())) > 0) {
    text.append(piece.data(), static_cast<size_t>(size));
  }
  // A file that was cut short reads to its end: only the stream's state tells.
  int state = Z_OK;
  const char* message = gzerror(file, &state);
  if (state != Z_OK) return absl::DataLossError(message);
  return text;
}

}  // namespace

absl::StatusOr<ExtractionCase> ParseGymText(absl::string_view text) {
  if (text.size() > kMaxTextBytes) {
    return Error("text", absl::StrCat("is longer than ", kMaxTextBytes, " bytes"));
  }
  Json file;
  try {
    // Neither this parser nor its values' destructors recurse: depth costs memory, not stack.
    file = Json::parse(text.begin(), text.end());
  } catch (const Json::exception& error) {
    return absl::InvalidArgumentError(error.what());
  }
  return MakeCase(file);
}

absl::StatusOr<ExtractionCase> ReadGymFile(const std::string& path) {
  const auto in_file = [&path](const absl::Status& status) {
    return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
  };
  const absl::StatusOr<std::string> text = ReadUncompressed(path);
  if (!text.ok()) return in_file(text.status());
  absl::StatusOr<ExtractionCase> problem = ParseGymText(*text);
  if (!problem.ok()) return in_file(problem.status());
  return problem;
}

}  // namespace quotient::testing
