#include "tests/bench/idle_rules.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/egraph/pattern.h"
#include "core/egraph/pattern_program.h"
#include "core/os/files.h"
#include "core/rules/vocabulary.h"

namespace quotient {
namespace {

using egraph::EGraph;
using egraph::Program;

// Takes matches and says nothing of them.
class Swallow : public egraph::MatchSink {
 public:
  bool Add(egraph::Match /*match*/) override { return true; }
};

// The pattern with one more guard at the end of each search order, which never passes.
Program NeverMatching(Program program) {
  const egraph::Guard never = {
      .signature = "",
      .holds = [](const EGraph&, std::span<const egraph::Binding>) { return false; },
      .otherwise = egraph::Guard::Otherwise::kNothing};
  egraph::Instruction last;
  last.code = egraph::Instruction::Code::kGuard;
  last.guard = static_cast<uint32_t>(program.guards.size());
  program.guards.push_back({never});
  for (egraph::Plan& plan : program.deltas) plan.code.push_back(last);
  return program;
}

class IdleRule final : public egraph::Rule {
 public:
  IdleRule(const egraph::Rule& of, int64_t number)
      : of_(of), name_(absl::StrCat(of.name(), "-idle-", number)) {
    for (const Program* const program : of.programs()) {
      programs_.push_back(NeverMatching(*program));
    }
  }

  const std::string& name() const override { return name_; }
  const std::string& equation() const override { return of_.equation(); }
  std::vector<const Program*> programs() const override {
    std::vector<const Program*> pointers;
    for (const Program& program : programs_) pointers.push_back(&program);
    return pointers;
  }
  const egraph::Anchors* anchors() const override { return of_.anchors(); }
  void Search(const EGraph& graph, egraph::MatchSink& /*sink*/) const override {
    Swallow swallow;
    of_.Search(graph, swallow);
  }
  void SearchAt(const EGraph& graph, std::span<const egraph::ENodeId> anchors,
                egraph::MatchSink& /*sink*/) const override {
    Swallow swallow;
    of_.SearchAt(graph, anchors, swallow);
  }
  absl::StatusOr<bool> Apply(EGraph& /*graph*/, const egraph::Match& /*match*/,
                             egraph::Origin /*origin*/) const override {
    return false;
  }

 private:
  const egraph::Rule& of_;
  const std::string name_;
  std::vector<Program> programs_;
};

}  // namespace

void IdleRules::AddCopies(std::span<const egraph::Rule* const> rules, int64_t copies) {
  for (int64_t i = 0; i < copies; ++i) {
    for (const egraph::Rule* const rule : rules) {
      rules_.push_back(std::make_unique<IdleRule>(*rule, i));
    }
  }
}

absl::Status IdleRules::AddFile(const std::string& path, domain::TensorDomain* domain) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::string text, os::ReadFile(path));
  rules::Words words(domain);
  rules::AddCommonWords(words);
  QUOTIENT_ASSIGN_OR_RETURN(auto rules, egraph::CompileRules(text, words.vocabulary(), path));
  for (std::unique_ptr<egraph::Rule>& rule : rules) {
    rules_.push_back(std::make_unique<IdleRule>(*rule, 0));
    of_files_.push_back(std::move(rule));
  }
  return absl::OkStatus();
}

}  // namespace quotient
