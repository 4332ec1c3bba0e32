// The text of a journal: FORMAT.md.

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/base/digest.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/journal/journal.h"

namespace quotient::journal {
namespace {

// Keys keep the order in which they are added.
using Json = nlohmann::ordered_json;

constexpr int64_t kFormat = 1;
// A longer text is refused before it is read. Those of large networks have some hundred kilobytes.
constexpr size_t kMostBytes = size_t{1} << 26;

// --- Writing

// Names may be any bytes, and JSON has only UTF-8.
Json NameJson(absl::string_view name) { return absl::CEscape(name); }

Json NamesJson(const std::vector<std::string>& names) {
  Json json = Json::array();
  for (const std::string& name : names) json.push_back(NameJson(name));
  return json;
}

// By key, which is in order.
Json ShapesJson(const std::map<std::string, std::vector<int64_t>>& shapes) {
  Json::object_t object;
  for (const auto& [name, dims] : shapes) object.emplace_back(absl::CEscape(name), dims);
  return object;
}

Json NumberJson(double number) { return std::isfinite(number) ? Json(number) : Json(0.0); }

Json PlaceJson(const Place& place) {
  switch (place.sort) {
    case Place::Sort::kValue:
      return NameJson(place.name);
    case Place::Sort::kNode:
      return Json{{"node", NameJson(place.name)}};
    case Place::Sort::kAbsent:
      return nullptr;
    case Place::Sort::kMade:
      break;
  }
  return Json::array({place.rewrite, place.index});
}

Json PlacesJson(const std::vector<Place>& places) {
  Json json = Json::array();
  for (const Place& place : places) json.push_back(PlaceJson(place));
  return json;
}

// `number`: its own.
Json RewriteJson(const Rewrite& rewrite, size_t number) {
  Json json = {{"rule", NameJson(rewrite.rule)}, {"at", PlacesJson(rewrite.at)}};
  if (rewrite.alternative > 0) json["alternative"] = rewrite.alternative;
  if (rewrite.which > 0) json["which"] = rewrite.which;
  if (rewrite.found_after != number) json["found_after"] = rewrite.found_after;
  return json;
}

Json GraphJson(const Rewriting& rewriting) {
  Json splits = Json::array();
  for (const std::vector<Place>& split : rewriting.splits) splits.push_back(PlacesJson(split));
  return {{"graph", {{"chosen", PlacesJson(rewriting.chosen)}, {"splits", std::move(splits)}}}};
}

Json PreparationJson(const Preparation& preparation) {
  return {{"preparation",
           {{"shapes", ShapesJson(preparation.shapes)},
            {"measure_shapes", ShapesJson(preparation.measure_shapes)},
            {"freeze_initializers", preparation.freeze_initializers},
            {"kept_values", NamesJson(preparation.kept_values)},
            {"assume_finite_inputs", preparation.assume_finite_inputs},
            {"max_folded_bytes", preparation.max_folded_bytes},
            {"max_opset", preparation.max_opset},
            {"names_are_forgotten", preparation.names_are_forgotten},
            {"annotates_types", preparation.annotates_types},
            {"constants_as_initializers", preparation.constants_as_initializers},
            {"external_location", NameJson(preparation.external_location)}}}};
}

Json ResultJson(const Journal::Derivation& derivation) {
  Json result = {{"model", derivation.model.Text()}};
  if (derivation.external_data.has_value()) {
    result["external_data"] = derivation.external_data->Text();
  }
  return {{"result", std::move(result)}};
}

Json RemarksJson(const Remarks& remarks) {
  Json savings = Json::array();
  for (const Remarks::Saving& saving : remarks.savings) {
    savings.push_back({{"rules", NamesJson(saving.rules)},
                       {"sites", NamesJson(saving.sites)},
                       {"us", NumberJson(saving.us)}});
  }
  return {{"remarks",
           {{"device", NameJson(remarks.device)},
            {"max_relative_error", NumberJson(remarks.max_relative_error)},
            {"tolerance", NumberJson(remarks.tolerance)},
            {"inputs", remarks.inputs},
            {"savings", std::move(savings)}}}};
}

// --- Reading. Where a value is not what it must be, these throw an exception, of the JSON library
// or this one, which FromText turns into a status.

// Looks keys up by search, so that a line with many of them takes no quadratic time.
using Parsed = nlohmann::json;

class Refusal final : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

[[noreturn]] void Refuse(const char* what) { throw Refusal(what); }

int64_t ReadInt(const Parsed& json) {
  if (!json.is_number_integer()) Refuse("expected an integer");
  if (json.is_number_unsigned() &&
      json.get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()}) {
    Refuse("the number is too large");
  }
  return json.get<int64_t>();
}

uint32_t ReadIndex(const Parsed& json) {
  const int64_t number = ReadInt(json);
  if (number < 0 || number > int64_t{std::numeric_limits<uint32_t>::max()})
    Refuse("expected an index");
  return static_cast<uint32_t>(number);
}

double ReadNumber(const Parsed& json) {
  if (!json.is_number()) Refuse("expected a number");
  return json.get<double>();
}

bool ReadBool(const Parsed& json) {
  if (!json.is_boolean()) Refuse("expected true or false");
  return json.get<bool>();
}

std::string Unescaped(const std::string& text) {
  std::string name;
  if (!absl::CUnescape(text, &name)) Refuse("expected a name with C escapes");
  return name;
}

std::string ReadName(const Parsed& json) { return Unescaped(json.get<std::string>()); }

const Parsed& ReadArray(const Parsed& json) {
  if (!json.is_array()) Refuse("expected an array");
  return json;
}

std::vector<std::string> ReadNames(const Parsed& json) {
  std::vector<std::string> names;
  for (const Parsed& name : ReadArray(json)) names.push_back(ReadName(name));
  return names;
}

std::map<std::string, std::vector<int64_t>> ReadShapes(const Parsed& json) {
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const auto& [name, dims] : json.items()) {
    std::vector<int64_t>& shape = shapes[Unescaped(name)];
    for (const Parsed& dim : ReadArray(dims)) shape.push_back(ReadInt(dim));
  }
  return shapes;
}

BlobId ReadBlobId(const Parsed& json) {
  const std::optional<BlobId> id = BlobId::FromText(json.get<std::string>());
  if (!id.has_value()) Refuse("expected <sha256>/<size>");
  return *id;
}

Place ReadPlace(const Parsed& json) {
  if (json.is_null()) return {.sort = Place::Sort::kAbsent};
  if (json.is_string()) return {.name = ReadName(json)};
  if (json.is_object()) return {.sort = Place::Sort::kNode, .name = ReadName(json.at("node"))};
  return {.sort = Place::Sort::kMade,
          .rewrite = ReadIndex(ReadArray(json).at(0)),
          .index = ReadIndex(json.at(1))};
}

std::vector<Place> ReadPlaces(const Parsed& json) {
  std::vector<Place> places;
  for (const Parsed& place : ReadArray(json)) places.push_back(ReadPlace(place));
  return places;
}

Rewrite ReadRewrite(const Parsed& json, size_t number) {
  Rewrite rewrite = {.rule = ReadName(json.at("rule")),
                     .at = ReadPlaces(json.at("at")),
                     .found_after = static_cast<uint32_t>(number)};
  if (json.contains("alternative")) rewrite.alternative = ReadIndex(json.at("alternative"));
  if (json.contains("which")) rewrite.which = ReadIndex(json.at("which"));
  if (json.contains("found_after")) rewrite.found_after = ReadIndex(json.at("found_after"));
  return rewrite;
}

Preparation ReadPreparation(const Parsed& json) {
  const int64_t max_opset = ReadInt(json.at("max_opset"));
  if (max_opset < 0 || max_opset > std::numeric_limits<int>::max()) Refuse("expected an opset");
  return {.shapes = ReadShapes(json.at("shapes")),
          .measure_shapes = ReadShapes(json.at("measure_shapes")),
          .freeze_initializers = ReadBool(json.at("freeze_initializers")),
          .kept_values = ReadNames(json.at("kept_values")),
          .assume_finite_inputs = ReadBool(json.at("assume_finite_inputs")),
          .max_folded_bytes = ReadInt(json.at("max_folded_bytes")),
          .max_opset = static_cast<int>(max_opset),
          .names_are_forgotten = ReadBool(json.at("names_are_forgotten")),
          .annotates_types = ReadBool(json.at("annotates_types")),
          .constants_as_initializers = ReadBool(json.at("constants_as_initializers")),
          .external_location = ReadName(json.at("external_location"))};
}

Remarks ReadRemarks(const Parsed& json) {
  Remarks remarks = {.device = ReadName(json.at("device")),
                     .max_relative_error = ReadNumber(json.at("max_relative_error")),
                     .tolerance = ReadNumber(json.at("tolerance")),
                     .inputs = ReadInt(json.at("inputs"))};
  for (const Parsed& saving : ReadArray(json.at("savings"))) {
    remarks.savings.push_back({.rules = ReadNames(saving.at("rules")),
                               .sites = ReadNames(saving.at("sites")),
                               .us = ReadNumber(saving.at("us"))});
  }
  return remarks;
}

absl::Status Invalid(absl::string_view why) {
  return MakeError(Reason::kJournalInvalid, absl::StrCat("the journal is damaged: ", why));
}

// Reads the lines of a text one by one.
class Reader {
 public:
  // `lines` end with a line end each.
  explicit Reader(absl::string_view lines) : left_(lines) {}

  int64_t number() const { return number_; }  // Of the line that was read last.

  Journal ReadJournal() {
    Journal journal;
    const Parsed head = Next();
    if (ReadInt(head.at("quotient_journal")) != kFormat) Refuse("unknown version of the format");
    journal.engine = ReadName(head.at("engine"));
    journal.model = ReadBlobId(head.at("model"));
    const std::string outcome = head.at("outcome").get<std::string>();
    if (outcome == "improved") journal.derivation = ReadDerivation();
    journal.remarks = ReadRemarks(Next().at("remarks"));
    if (!left_.empty()) Refuse("more lines than there should be");
    return journal;
  }

 private:
  Parsed Next() {
    ++number_;
    const size_t end = left_.find('\n');
    if (end == absl::string_view::npos) Refuse("a line is missing");
    Parsed json = Parsed::parse(left_.substr(0, end));
    left_.remove_prefix(end + 1);
    return json;
  }

  Journal::Derivation ReadDerivation() {
    Journal::Derivation derivation;
    derivation.preparation = ReadPreparation(Next().at("preparation"));
    Rewriting& rewriting = derivation.rewriting;
    Parsed json = Next();
    for (; json.contains("rule"); json = Next()) {
      rewriting.rewrites.push_back(ReadRewrite(json, rewriting.rewrites.size()));
    }
    const Parsed& graph = json.at("graph");
    rewriting.chosen = ReadPlaces(graph.at("chosen"));
    for (const Parsed& split : ReadArray(graph.at("splits"))) {
      rewriting.splits.push_back(ReadPlaces(split));
    }
    const Parsed result = Next().at("result");
    derivation.model = ReadBlobId(result.at("model"));
    if (result.contains("external_data")) {
      derivation.external_data = ReadBlobId(result.at("external_data"));
    }
    return derivation;
  }

  absl::string_view left_;
  int64_t number_ = 0;
};

std::string LineOf(const Json& json) { return absl::StrCat(json.dump(), "\n"); }

std::string LastLine(absl::string_view others) {
  return LineOf({{"sha256", Digest::Of(others).Hex()}});
}

}  // namespace

std::string ToText(const Journal& journal) {
  const bool is_improved = journal.derivation.has_value();
  std::string text = LineOf({{"quotient_journal", kFormat},
                             {"engine", NameJson(journal.engine)},
                             {"model", journal.model.Text()},
                             {"outcome", is_improved ? "improved" : "no_improvement"}});
  if (is_improved) {
    text += LineOf(PreparationJson(journal.derivation->preparation));
    const Rewriting& rewriting = journal.derivation->rewriting;
    for (size_t i = 0; i < rewriting.rewrites.size(); ++i) {
      text += LineOf(RewriteJson(rewriting.rewrites[i], i));
    }
    text += LineOf(GraphJson(rewriting));
    text += LineOf(ResultJson(*journal.derivation));
  }
  text += LineOf(RemarksJson(journal.remarks));
  return text + LastLine(text);
}

absl::StatusOr<Journal> FromText(absl::string_view text) {
  if (text.size() > kMostBytes) return Invalid("it is longer than any");
  const size_t size_of_last = LastLine("").size();
  if (text.size() <= size_of_last) return Invalid("it is no journal");
  const absl::string_view lines = text.substr(0, text.size() - size_of_last);
  if (text.substr(lines.size()) != LastLine(lines)) {
    return Invalid("its last line does not have the digest of the others");
  }
  Reader reader(lines);
  const auto at_line = [&reader](const std::exception& error) {
    return Invalid(absl::StrCat("line ", reader.number(), ": ", absl::CEscape(error.what())));
  };
  try {
    Journal journal = reader.ReadJournal();
    // Whatever says the same in another way was not written by ToText.
    if (ToText(journal) == text) return journal;
    return Invalid("it is not in the form in which journals are written");
  } catch (const nlohmann::json::exception& error) {
    return at_line(error);
  } catch (const Refusal& error) {
    return at_line(error);
  }
}

}  // namespace quotient::journal
