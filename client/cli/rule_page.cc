#include "client/cli/rule_page.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/base/counted.h"
#include "core/base/printable.h"
#include "core/egraph/pattern_text.h"

namespace quotient::cli {
namespace {

using Json = nlohmann::ordered_json;

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

Json RuleJson(const egraph::Rule& rule, const std::string& family,
              const rules::RecordedCertificate& certificate) {
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
            {"note", certificate.note}}}};
}

std::string PageText(const RulePage& page) {
  const std::vector<std::string> lines = LinesOf(*page.rule);
  std::string text = absl::StrCat(page.rule->name(), ", of the family ", page.family, "\n\n  ",
                                  page.rule->equation(), "\n\n");
  if (lines.empty()) {
    absl::StrAppend(&text, "text and guards: none, it is written in C++\n");
  } else {
    const std::vector<std::string> guards = GuardsOf(lines);
    absl::StrAppend(&text, "text:\n  ", absl::StrJoin(lines, "\n  "), "\nguards:",
                    guards.empty() ? " none" : absl::StrCat("\n  ", absl::StrJoin(guards, "\n  ")),
                    "\n");
  }
  absl::StrAppend(&text, "certificate: ", CertificateText(page.certificate),
                  "statistics:", StatsText(page, StatsOf(page)));
  return text;
}

std::string PageJson(const RulePage& page) {
  const std::vector<std::string> lines = LinesOf(*page.rule);
  Json json = RuleJson(*page.rule, page.family, page.certificate);
  json["text"] = lines;
  json["guards"] = GuardsOf(lines);
  json["statistics"] = nullptr;
  if (page.stats.ok()) {
    json["statistics"] = StatsObject(StatsOf(page), {{page.rule->name(), page.version}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace quotient::cli
