#include "client/cli/rule_page.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/base/counted.h"
#include "core/base/printable.h"
#include "core/egraph/pattern_text.h"
#include "core/rules/guard_notes.h"
#include "core/rules/purpose.h"

namespace quotient::cli {
namespace {

using Json = nlohmann::ordered_json;
using rules::RecordedGuard;

// The lines of the rule's text, one for each left side; empty for a site rule.
std::vector<std::string> LinesOf(const egraph::Rule& rule) {
  std::vector<std::string> lines = absl::StrSplit(rule.text(), '\n', absl::SkipEmpty());
  for (std::string& line : lines) line = absl::StrCat(rule.name(), ": ", line);
  return lines;
}

// The guards of all lines, each once.
std::vector<std::string> GuardsOf(std::span<const std::string> lines) {
  std::vector<std::string> guards;
  for (const std::string& line : lines) {
    const auto parsed = egraph::ParseRuleText(line);
    if (!parsed.ok()) continue;  // Our own rules have been compiled from these lines.
    for (const egraph::GuardText& guard : parsed->guards) {
      std::string text = ToText(guard);
      if (std::ranges::find(guards, text) == guards.end()) guards.push_back(std::move(text));
    }
  }
  return guards;
}

// What is known of a guard, in a sentence.
std::string KnownOf(const RecordedGuard& guard) {
  if (guard.is_needed) return absl::StrCat("needed; without it: ", guard.finding);
  const rules::GuardNote* const note = rules::NoteOn(guard.rule, guard.guard);
  return absl::StrCat("for ", rules::NameOf(guard.purpose), ": ",
                      note != nullptr ? note->why : rules::MeaningOf(guard.purpose),
                      "; the rule without it: ", guard.finding);
}

// The guards, and below each what is known of it, for those left sides for which the same is.
std::string GuardsText(std::span<const std::string> guards,
                       std::span<const RecordedGuard> records) {
  if (guards.empty()) return " none\n";
  std::string text = "\n";
  for (const std::string& guard : guards) {
    absl::StrAppend(&text, "  ", guard, "\n");
    std::vector<std::pair<std::string, std::vector<int>>> known;  // With the left sides.
    for (const RecordedGuard& record : records) {
      if (record.guard != guard) continue;
      const std::string sentence = KnownOf(record);
      auto same = std::ranges::find(known, sentence, &decltype(known)::value_type::first);
      if (same == known.end()) same = known.insert(known.end(), {sentence, {}});
      same->second.push_back(record.left);
    }
    for (const auto& [sentence, lefts] : known) {
      const std::string where = absl::StrCat("in line ", absl::StrJoin(lefts, ", "), ": ");
      absl::StrAppend(&text, "    ", known.size() == 1 ? "" : where, sentence, "\n");
    }
  }
  return text;
}

Json GuardJson(const RecordedGuard& guard) {
  const rules::GuardNote* const note = rules::NoteOn(guard.rule, guard.guard);
  return {{"line", guard.left},
          {"guard", guard.guard},
          {"needed", guard.is_needed},
          {"purpose", rules::NameOf(guard.purpose)},
          {"why", note != nullptr ? note->why : rules::MeaningOf(guard.purpose)},
          {"finding", guard.finding}};
}

int64_t CountNeeded(std::span<const RecordedGuard> guards) {
  return std::ranges::count_if(guards, &RecordedGuard::is_needed);
}

std::string CertificateText(const rules::RecordedCertificate& certificate) {
  if (certificate.instances == 0) return absl::StrCat(certificate.tier, "\n");
  std::string text = absl::StrCat(
      certificate.tier, "\n  compared in ", Counted(certificate.instances, "graph"),
      " with numbers, ", certificate.exact, " of which agree in exact arithmetic, and in ",
      certificate.symbolic, " with symbols; ", Counted(certificate.equations, "value"));
  absl::StrAppendFormat(&text, "\n  largest relative error in floats %.1e\n",
                        certificate.largest_error);
  if (!certificate.note.empty()) {
    const bool is_functions = certificate.tier == "exact for any function";
    absl::StrAppend(&text, "  ", is_functions ? "whatever these functions are: " : "",
                    certificate.note, "\n");
  }
  return text;
}

std::string StatsText(const RulePage& page, const timing::RuleTable& of_rule) {
  if (!page.stats.ok()) {
    return absl::StrCat(" not known: ", Printable(page.stats.status().message()), "\n");
  }
  if (of_rule.empty()) return " it has had no match in the jobs so far\n";
  return absl::StrCat("\n", StatsTable(of_rule, {{page.rule->name(), page.version}}));
}

timing::RuleTable StatsOf(const RulePage& page) {
  return page.stats.ok() ? OnlyRule(*page.stats, page.rule->name()) : timing::RuleTable();
}

}  // namespace

std::string NeededOf(std::span<const RecordedGuard> guards) {
  return guards.empty() ? "-" : absl::StrCat(CountNeeded(guards), "/", guards.size());
}

std::string GuardCounts(std::span<const RecordedGuard> guards) {
  std::map<rules::Purpose, int> others;
  for (const RecordedGuard& guard : guards) others[guard.purpose] += guard.is_needed ? 0 : 1;
  std::string text = absl::StrCat(Counted(guards.size(), "guard"), ": ", CountNeeded(guards),
                                  " needed, as counterexamples show");
  for (const auto& [purpose, count] : others) {
    if (count > 0) absl::StrAppend(&text, ", ", count, " for ", rules::NameOf(purpose));
  }
  return text;
}

Json RuleJson(const egraph::Rule& rule, const std::string& family,
              const rules::RecordedCertificate& certificate,
              std::span<const RecordedGuard> guards) {
  return {{"name", rule.name()},
          {"family", family},
          {"equation", rule.equation()},
          {"certificate",
           {{"tier", certificate.tier},
            {"instances", certificate.instances},
            {"exact", certificate.exact},
            {"symbolic", certificate.symbolic},
            {"equations", certificate.equations},
            {"largest_error", certificate.largest_error},
            {"note", certificate.note}}},
          {"guard_counts", {{"all", guards.size()}, {"needed", CountNeeded(guards)}}}};
}

std::string PageText(const RulePage& page) {
  const std::vector<std::string> lines = LinesOf(*page.rule);
  std::string text = absl::StrCat(page.rule->name(), ", of the family ", page.family, "\n\n  ",
                                  page.rule->equation(), "\n\n");
  if (lines.empty()) {
    absl::StrAppend(&text, "text and guards: none, it is written in C++\n");
  } else {
    const std::vector<std::string> guards = GuardsOf(lines);
    absl::StrAppend(&text, "text:\n  ", absl::StrJoin(lines, "\n  "),
                    "\nguards:", GuardsText(guards, page.guards));
  }
  absl::StrAppend(&text, "certificate: ", CertificateText(page.certificate),
                  "statistics:", StatsText(page, StatsOf(page)));
  return text;
}

std::string PageJson(const RulePage& page) {
  const std::vector<std::string> lines = LinesOf(*page.rule);
  Json json = RuleJson(*page.rule, page.family, page.certificate, page.guards);
  json["text"] = lines;
  json["guards"] = GuardsOf(lines);
  json["guard_findings"] = Json::array();
  for (const RecordedGuard& guard : page.guards) json["guard_findings"].push_back(GuardJson(guard));
  json["statistics"] = nullptr;
  if (page.stats.ok()) {
    json["statistics"] = StatsObject(StatsOf(page), {{page.rule->name(), page.version}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace quotient::cli
