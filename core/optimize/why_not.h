#pragma once

// WhyNot: answers the questions of Options::why_not. While a run works it shows the e-graph that
// the search ended with, and what checking refused; at the end there is an answer to each question.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/optimize/inquiry.h"
#include "core/optimize/job.h"
#include "core/optimize/question.h"
#include "core/optimize/verify_candidates.h"
#include "core/report/report.h"

namespace quotient::optimize {

// One thread.
class WhyNot {
 public:
  // The questions must be valid. They are asked in the order of their texts and each once, as jobs
  // are the same whose questions are. Borrows the job.
  explicit WhyNot(const Job& job);

  bool is_asked() const { return !asked_.empty(); }
  // To be called when the candidates have been chosen. Takes Budget::ForQuestions at most,
  // apart from what cannot be broken off: making the e-graph of the original anew, and bringing the
  // costs up to date. The e-graph is the same afterwards, even if memory runs out, except that its
  // costs are by all that is known of kernels.
  void LookAt(const EndedSearch& search);
  // To be called when the candidates have been checked.
  void LookAt(const VerifiedCandidates& verified);

  // The answers in the order of the questions' texts, given the finished report. `why`: why there
  // was no search, if there was none.
  std::vector<report::WhyNot> Answers(const report::Report& report, const absl::Status& why) const;

 private:
  struct Asked {
    Question question;
    Findings findings;
    bool is_answered = false;  // Whether there are findings.
  };

  void AskAll(const EndedSearch& search);
  // Gives this answer to the questions without findings.
  void AnswerTheRest(const std::string& answer, const std::string& text);
  void Decide(const report::Report& report, const Asked& asked, report::WhyNot* answer) const;

  const Job& job_;
  std::vector<Asked> asked_;
  std::map<size_t, std::string> refused_;  // By Candidate::found: why checking refused it.
  std::set<std::string> culprits_;         // Rules that checking found to be wrong.
};

}  // namespace quotient::optimize
