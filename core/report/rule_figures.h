#pragma once

// What each rule was worth in the result: its steps in the journal and its part in the gains.

#include <map>
#include <span>
#include <string>

#include "core/report/report.h"

namespace quotient::report {

// Adds the uses and savings to what the search counted.
void AddWorth(std::span<const JournalEntry> journal, const Gains& gains,
              std::map<std::string, RuleFigures>* rules);

// The names of the rules, those first that saved most, then those that are used most.
std::vector<std::string> RulesByWorth(const std::map<std::string, RuleFigures>& rules);

}  // namespace quotient::report
