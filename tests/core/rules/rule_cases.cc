#include "tests/core/rules/rule_cases.h"

#include <cstdlib>
#include <fstream>
#include <iostream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace quotient::rules {
namespace {

[[noreturn]] void Die(const std::string& path, int line, absl::string_view what) {
  std::cerr << path << ":" << line << ": " << what << "\n";
  std::exit(EXIT_FAILURE);
}

class Reader {
 public:
  Reader(const std::string& path, std::vector<RuleCase>* cases) : path_(path), cases_(cases) {}

  void Read() {
    std::ifstream file(path_);
    if (!file) Die(path_, 0, "cannot be read");
    for (std::string line; std::getline(file, line);) {
      ++line_;
      const absl::string_view content = absl::StripAsciiWhitespace(line);
      if (content.empty() || content[0] == '#') continue;
      if (absl::ascii_isspace(static_cast<unsigned char>(line[0]))) {
        if (body_ == nullptr) Die(path_, line_, "a line of no graph");
        absl::StrAppend(body_, content, "\n");
      } else {
        Begin(content);
      }
    }
    Close();
  }

 private:
  void Begin(absl::string_view keyword) {
    Close();
    if (keyword == "head") {
      body_ = &head_;
    } else if (absl::ConsumePrefix(&keyword, "rule ")) {
      cases_->push_back({std::string(keyword), "", ""});
    } else if (absl::ConsumePrefix(&keyword, "fires ")) {
      OpenGraph(&cases_->back().fires, keyword);
    } else if (absl::ConsumePrefix(&keyword, "refused ")) {
      OpenGraph(&cases_->back().refused, keyword);
    } else {
      Die(path_, line_, "unknown keyword");
    }
  }

  void OpenGraph(std::string* graph, absl::string_view outputs) {
    body_ = graph;
    outputs_ = std::string(outputs);
    *graph = absl::StrCat("graph g {\n", head_);
  }

  void Close() {
    if (body_ != nullptr && body_ != &head_) absl::StrAppend(body_, "output ", outputs_, "\n}\n");
    body_ = nullptr;
  }

  const std::string path_;
  std::vector<RuleCase>* const cases_;
  int line_ = 0;
  std::string head_;
  std::string outputs_;
  std::string* body_ = nullptr;  // where lines go
};

}  // namespace

const std::vector<RuleCase>& RuleCases() {
  static const auto& all = *[] {
    auto* cases = new std::vector<RuleCase>;
    for (const char* family :
         {"algebra", "attention", "attention_forms", "attention_parts", "channel_padding", "conv",
          "conv_forms", "einsum", "layout", "linear_maps", "matmul", "parts", "picks", "pool",
          "quantized", "reduction", "rotary", "transformer"}) {
      Reader(absl::StrCat("tests/core/rules/cases/", family, ".txt"), cases).Read();
    }
    return cases;
  }();
  return all;
}

}  // namespace quotient::rules
