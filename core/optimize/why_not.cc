#include "core/optimize/why_not.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/optimize/answer.h"
#include "core/optimize/memory.h"
#include "core/report/decision_text.h"

namespace quotient::optimize {

WhyNot::WhyNot(const Job& job) : job_(job) {
  std::vector<std::string> texts = job.options.why_not;
  std::ranges::sort(texts);
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  for (const std::string& text : texts) {
    const absl::StatusOr<Question> question = ParseQuestion(text);
    if (!question.ok()) continue;
    asked_.push_back({*question, {.answer = {.rule = question->rule, .node = question->node}}});
  }
}

void WhyNot::LookAt(const EndedSearch& search) {
  const bool had_memory = WithinMemory(
      [&] {
        AskAll(search);
        return true;
      },
      [] { return false; });
  if (had_memory) return;
  AnswerTheRest("no_memory", "memory ran out before this question was answered");
  search.grown.costs().Refresh();  // It may have been interrupted while an e-graph was on trial.
}

void WhyNot::AskAll(const EndedSearch& search) {
  const StopCondition stop = job_.budget.ForQuestions(job_.stop.WithoutDeadline());
  const auto beginning = Begin(job_, search, job_.options.assume_finite_inputs);
  if (!beginning.ok()) {
    return AnswerTheRest("unanswered", absl::StrCat("the original could not be looked at again: ",
                                                    beginning.status().message()));
  }
  for (size_t i = 0; i < asked_.size(); ++i) {
    Asked& asked = asked_[i];
    // What a question leaves of its share is for those behind it.
    const StopCondition share = stop.Share(std::ssize(asked_) - static_cast<int64_t>(i));
    if (share.ShouldStop()) {
      Answer late(asked.question);
      late.SayNoTime();
      asked.findings.answer = std::move(late).Take();
    } else {
      asked.findings = Inquire(job_, search, **beginning, asked.question, share);
    }
    asked.is_answered = true;
  }
}

void WhyNot::AnswerTheRest(const std::string& answer, const std::string& text) {
  for (Asked& asked : asked_) {
    if (std::exchange(asked.is_answered, true)) continue;
    asked.findings.answer.answer = answer;
    asked.findings.answer.text = text;
  }
}

void WhyNot::LookAt(const VerifiedCandidates& verified) {
  if (!verified.rescued.has_value()) return;
  culprits_.insert(verified.rescued->culprits.begin(), verified.rescued->culprits.end());
  for (const Refused& refused : verified.rescued->refused) {
    if (refused.packaged.found.has_value()) refused_[*refused.packaged.found] = refused.failure;
  }
}

std::vector<report::WhyNot> WhyNot::Answers(const report::Report& report,
                                            const absl::Status& why) const {
  std::vector<report::WhyNot> answers;
  for (const Asked& asked : asked_) {
    report::WhyNot& answer = answers.emplace_back(asked.findings.answer);
    if (!answer.answer.empty()) continue;
    if (asked.findings.found.empty()) {
      answer.answer = "not_searched";
      answer.text = why.ok() ? "nothing was searched, as the notes say"
                             : absl::StrCat("nothing was searched: ", why.message());
      continue;
    }
    Decide(report, asked, &answer);
  }
  return answers;
}

// For a rewrite that some candidates use.
void WhyNot::Decide(const report::Report& report, const Asked& asked,
                    report::WhyNot* answer) const {
  if (Uses(report.journal, asked.question.rule, asked.findings.places)) {
    answer->answer = "applied";
    answer->text = "the result uses it: see the journal of the report";
    return;
  }
  answer->answer = "not_taken";
  answer->text = report.outcome == report::Outcome::kImproved
                     ? "a graph that was chosen uses it, but another one was taken"
                     : "a graph that was chosen uses it, but the original was kept";
  if (culprits_.contains(asked.question.rule)) {
    answer->details.emplace_back("checking found that the rule is wrong here, so it was left out");
  }
  const std::vector<std::string> lines = report::DecisionLines(report.considered);
  for (const size_t found : asked.findings.found) {
    if (const auto refused = refused_.find(found); refused != refused_.end()) {
      answer->details.push_back(absl::StrCat("a graph with it was refused: ", refused->second));
    }
  }
  for (size_t i = 0; i < report.considered.size(); ++i) {
    const report::Considered& candidate = report.considered[i];
    const bool has_it =
        candidate.found.has_value() && asked.findings.found.contains(*candidate.found);
    if (has_it || candidate.taken) {
      answer->details.push_back(absl::StrCat(has_it ? "with it: " : "taken instead: ", lines[i]));
    }
  }
  if (answer->details.empty()) {
    answer->details.emplace_back(
        "no graph with it was compared: none is predicted to be faster than the original, or time "
        "was up (see the notes)");
  }
}

}  // namespace quotient::optimize
