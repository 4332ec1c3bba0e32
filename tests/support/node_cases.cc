#include "tests/support/node_cases.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/support/graphs.h"

namespace quotient::testing {
namespace {

using model::Graph;
using model::Tensor;
using model::TensorType;

constexpr char kFile[] = "tests/data/ops/node_cases.txt";

[[noreturn]] void Fail(absl::string_view line) {
  std::cerr << kFile << ": cannot read '" << line.substr(0, 100) << "'\n";
  std::abort();
}

// The lines of one case, parsed.
struct CaseText {
  std::string name;
  std::string node;
  std::map<std::string, Tensor> attributes;
  std::vector<std::pair<std::string, Tensor>> tensors;
};

// Parses "NAME TYPE BASE64".
std::pair<std::string, Tensor> ReadTensor(absl::string_view line) {
  const std::vector<std::string> words = absl::StrSplit(line, absl::MaxSplits(' ', 2));
  std::string bytes;
  if (words.size() != 3 || !absl::Base64Unescape(words[2], &bytes)) Fail(line);
  const absl::StatusOr<TensorType> type = model::ParseTensorType(words[1]);
  if (!type.ok() || type->bytes() != static_cast<int64_t>(bytes.size())) Fail(line);
  std::span<std::byte> buffer;
  Tensor tensor = Tensor::Allocate(type->dtype, type->dims(), &buffer);
  std::copy_n(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(), buffer.begin());
  return {words[0], std::move(tensor)};
}

NodeCase MakeCase(const CaseText& text) {
  std::string graph = "graph node_case {\n";
  std::vector<std::string> outputs;
  for (const auto& [name, tensor] : text.tensors) {
    if (name[0] == 'x')
      absl::StrAppend(&graph, "input ", name, ": ", ToString(tensor.type()), "\n");
    if (name[0] == 'y') outputs.push_back(name);
  }
  absl::StrAppend(&graph, text.node, "\n");
  for (const std::string& output : outputs) absl::StrAppend(&graph, "output ", output, "\n");
  NodeCase result;
  result.name = text.name;
  result.graph = MustParse(absl::StrCat(graph, "}\n"));
  result.op = result.graph.nodes[0].op;
  for (const auto& [name, tensor] : text.attributes) {
    result.graph.nodes[0].attributes.Set(name, tensor);
  }
  for (const auto& [name, tensor] : text.tensors) {
    (name[0] == 'x' ? result.inputs : result.outputs).push_back(tensor);
  }
  return result;
}

std::vector<NodeCase> ReadCases() {
  std::ifstream file(kFile);
  if (!file) Fail("the file");
  std::vector<CaseText> texts;
  for (std::string line; std::getline(file, line);) {
    if (line[0] == '#') continue;
    absl::string_view rest = line;
    if (absl::ConsumePrefix(&rest, "case ")) {
      texts.push_back({});
      texts.back().name = std::string(rest);
    } else if (texts.empty()) {
      Fail(line);
    } else if (absl::ConsumePrefix(&rest, "attr ")) {
      texts.back().attributes.insert(ReadTensor(rest));
    } else if (absl::ConsumePrefix(&rest, "tensor ")) {
      texts.back().tensors.push_back(ReadTensor(rest));
    } else {
      texts.back().node = line;
    }
  }
  std::vector<NodeCase> cases;
  for (const CaseText& text : texts) cases.push_back(MakeCase(text));
  return cases;
}

// A few units in the last place of each type. float32 gets some more, because the expected values
// were computed in float32.
double RelativeTolerance(model::DType dtype) {
  switch (dtype) {
    case model::DType::kFloat16:
      return 4e-3;
    case model::DType::kBfloat16:
      return 2e-2;
    case model::DType::kFloat64:
      return 1e-7;
    default:
      return 2e-5;
  }
}

}  // namespace

const std::vector<NodeCase>& AllNodeCases() {
  static const auto& cases = *new std::vector<NodeCase>(ReadCases());
  return cases;
}

bool CloseEnough(const Tensor& actual, const Tensor& expected) {
  if (actual.type() != expected.type()) return false;
  if (!model::IsFloat(expected.dtype())) return model::SameContent(actual, expected);
  const double tolerance = RelativeTolerance(expected.dtype());
  for (int64_t i = 0; i < expected.elements(); ++i) {
    const double a = actual.GetDouble(i);
    const double b = expected.GetDouble(i);
    const bool same = a == b || (std::isnan(a) && std::isnan(b));
    if (!same && !(std::abs(a - b) <= tolerance * (0.05 + std::abs(b)))) return false;
  }
  return true;
}

}  // namespace quotient::testing
