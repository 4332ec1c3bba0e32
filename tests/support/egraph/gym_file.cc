#include "tests/support/egraph/gym_file.h"

#include <zlib.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/base/status_macros.h"

namespace quotient::testing {
namespace {

using Json = nlohmann::json;

// Limits what a few compressed bytes can expand to. An e-graph has enough ids for a text of this
// size.
constexpr size_t kMaxTextBytes = size_t{1} << 27;

absl::Status Error(absl::string_view where, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(where, ": ", what));
}

// Makes untrusted text of any length fit for an error message.
std::string Shown(absl::string_view text, size_t most) {
  return absl::StrCat(
      absl::StrReplaceAll(absl::CHexEscape(text.substr(0, most)), {{"\\'", "'"}, {"\\\"", "\""}}),
      text.size() > most ? "..." : "");
}
std::string Quote(absl::string_view id) { return absl::StrCat("\"", Shown(id, 80), "\""); }

// Checks the text while it is parsed, so that nothing is stored that is refused.
class FormCheck {
 public:
  // Thrown to end the parser early, for which it has no other way.
  struct Refusal {
    std::string message;
  };

  // A nlohmann::json::parser_callback_t. Returns false for values that must not be stored.
  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    switch (event) {
      case Json::parse_event_t::object_start:
      case Json::parse_event_t::array_start:
        Open(static_cast<size_t>(depth));
        return true;
      case Json::parse_event_t::key:
        return TakeKey(static_cast<size_t>(depth), parsed.get_ref<const std::string&>());
      default:
        return true;
    }
  }

 private:
  // The format itself has four levels. Skipped fields may have some more.
  static constexpr size_t kMaxDepth = 16;
  struct Level {
    std::string key;  // The last key.
    absl::flat_hash_set<std::string> keys;
  };

  void Open(size_t depth) {
    if (depth == kMaxDepth) {
      throw Refusal{absl::StrCat("objects and arrays are more than ", kMaxDepth, " deep")};
    }
    levels_[depth].keys.clear();
  }

  // `depth` is the number of open objects and arrays.
  bool TakeKey(size_t depth, const std::string& key) {
    Level& level = levels_[depth - 1];
    if (!level.keys.insert(key).second) {
      const std::string where =
          depth > 1 ? absl::StrCat(Quote(levels_[depth - 2].key), ": ") : std::string();
      throw Refusal{absl::StrCat(where, "key ", Quote(key), " is there twice")};
    }
    level.key = key;
    return IsUsed(depth, key);
  }

  bool IsUsed(size_t depth, absl::string_view key) const {
    if (depth == 1) return key == "nodes" || key == "root_eclasses";
    if (depth != 3) return true;
    return key == "op" || key == "eclass" || key == "cost" || key == "children";
  }

  std::array<Level, kMaxDepth> levels_;
};

const std::string& TextOf(const Json& json) { return json.get_ref<const std::string&>(); }

// The member of an object with this key. Null if there is none or `object` is not an object.
const Json* Member(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

// The classes, numbered in the order in which e-nodes mention them. Borrows the ids.
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

// `kind` names the elements in errors.
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

// The sum of all finite costs must be finite, because extractors compare and subtract sums.
absl::Status CheckSum(const std::vector<CaseNode>& nodes) {
  double sum = 0;
  for (const CaseNode& node : nodes) {
    if (std::isfinite(node.cost)) sum += node.cost;
  }
  return std::isfinite(sum) ? absl::OkStatus() : Error("nodes", "the sum of the costs overflows");
}

absl::StatusOr<GymFile> MakeFile(const Json& file) {
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
  GymFile made = {.example = ExtractionCase(classes.by_id.size(), nodes, roots)};
  for (const Json& id : *root_ids) made.roots.push_back(TextOf(id));
  return made;
}

// No more than is needed to see that it is too long.
absl::StatusOr<std::string> ReadBytes(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return absl::NotFoundError("is a directory");
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(std::strerror(errno));
  std::string bytes;
  std::array<char, 1 << 16> piece;
  while (bytes.size() <= kMaxTextBytes && file.read(piece.data(), piece.size()).gcount() > 0) {
    bytes.append(piece.data(), static_cast<size_t>(file.gcount()));
  }
  if (file.bad()) return absl::NotFoundError("cannot be read");
  return bytes;
}

constexpr absl::string_view kGzipMagic = "\x1f\x8b";

// Uncompresses one gzip member at the front of `bytes`, and removes it from there.
absl::Status UncompressPiece(absl::string_view& bytes, std::string& text) {
  z_stream stream = {};
  constexpr int kGzipOnly = 16 + MAX_WBITS;
  if (inflateInit2(&stream, kGzipOnly) != Z_OK) return absl::ResourceExhaustedError("zlib");
  const auto end = absl::MakeCleanup([&stream] { inflateEnd(&stream); });
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::array<char, 1 << 16> piece;
  int state = Z_OK;
  while (state != Z_STREAM_END && text.size() <= kMaxTextBytes) {
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = piece.size();
    state = inflate(&stream, Z_NO_FLUSH);
    if (state == Z_BUF_ERROR) return absl::DataLossError("the compressed data ends too early");
    if (state != Z_OK && state != Z_STREAM_END) {
      return absl::DataLossError(absl::StrCat("the compressed data is damaged: ",
                                              stream.msg == nullptr ? "?" : stream.msg));
    }
    text.append(piece.data(), piece.size() - stream.avail_out);
  }
  bytes.remove_prefix(bytes.size() - stream.avail_in);
  return absl::OkStatus();
}

// No more than is needed to see that it is too long.
absl::StatusOr<std::string> ReadUncompressed(const std::string& path) {
  QUOTIENT_ASSIGN_OR_RETURN(std::string bytes, ReadBytes(path));
  if (!absl::StartsWith(bytes, kGzipMagic)) return bytes;
  std::string text;
  for (absl::string_view rest = bytes; !rest.empty() && text.size() <= kMaxTextBytes;) {
    if (!absl::StartsWith(rest, kGzipMagic)) {
      return absl::DataLossError("the compressed data is followed by something else");
    }
    QUOTIENT_RETURN_IF_ERROR(UncompressPiece(rest, text));
  }
  return text;
}

// An error with the parser's message, without the parser's name for the kind of error.
absl::Status ParseError(absl::string_view what) {
  const size_t name_end = what.find("] ");
  if (absl::StartsWith(what, "[json.exception") && name_end != absl::string_view::npos) {
    what.remove_prefix(name_end + 2);
  }
  return absl::InvalidArgumentError(Shown(what, 300));
}

}  // namespace

absl::StatusOr<GymFile> ParseGymText(absl::string_view text) {
  if (text.empty()) return absl::InvalidArgumentError("is empty");
  if (text.size() > kMaxTextBytes) {
    return Error("text", absl::StrCat("is longer than ", kMaxTextBytes, " bytes"));
  }
  Json file;
  try {
    FormCheck check;
    file = Json::parse(text.begin(), text.end(), std::ref(check));
  } catch (const FormCheck::Refusal& refusal) {
    return absl::InvalidArgumentError(refusal.message);
  } catch (const Json::exception& error) {
    return ParseError(error.what());
  }
  return MakeFile(file);
}

absl::StatusOr<GymFile> ReadGymFile(const std::string& path) {
  const auto in_file = [&path](const absl::Status& status) {
    return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
  };
  const absl::StatusOr<std::string> text = ReadUncompressed(path);
  if (!text.ok()) return in_file(text.status());
  absl::StatusOr<GymFile> file = ParseGymText(*text);
  if (!file.ok()) return in_file(file.status());
  return file;
}

}  // namespace quotient::testing
