#pragma once

// Answer: the answer to one question of Options::why_not while it is being found.

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/optimize/question.h"
#include "core/report/report.h"

namespace quotient::optimize {

// One thread. report::WhyNot says what each part is.
class Answer {
 public:
  explicit Answer(const Question& question)
      : whole_{.rule = question.rule, .node = question.node} {}

  // Replaces the answer that was given before, if one was. Its details stay.
  void Say(absl::string_view answer, std::string text) {
    whole_.answer = std::string(answer);
    whole_.text = std::move(text);
  }
  void SayNoTime() {
    Say("no_time", "the time that questions may take was up before this one was answered");
  }
  void Add(std::string detail) { whole_.details.push_back(std::move(detail)); }
  void Add(const std::vector<std::string>& details) {
    whole_.details.insert(whole_.details.end(), details.begin(), details.end());
  }
  void SetCosts(double with_us, double without_us) {
    whole_.with_us = with_us;
    whole_.without_us = without_us;
  }

  report::WhyNot Take() && { return std::move(whole_); }

 private:
  report::WhyNot whole_;
};

}  // namespace quotient::optimize
