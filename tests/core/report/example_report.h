#pragma once

#include "core/report/report.h"

namespace quotient::report {

// A report with a value of every kind: an improvement with two candidates, three groups of gains,
// and names that a page has to escape.
inline Report Example() {
  Report report;
  report.outcome = Outcome::kImproved;
  report.model_name = "<script>alert(1)</script>\xff";
  report.engine_version = "0.1.0";
  report.measured = true;
  report.device = "cpu";
  report.fingerprint = "cpu; AMD & sons; flags avx";
  report.threads = 2;
  report.original = {12, 100.5, {10, 0}, {120, 119, 125, 40, 2e-6}};
  report.optimized = {9, 80.25, {7, 1}, {90, 89, 99, 40}};
  report.speedup_percent = 25;
  report.predicted_speedup_percent = 20.1;
  report.speedup_interval = {23.5, 26.25};
  report.considered = {{{},
                        Grounds::kSurelySlower,
                        30,
                        PercentRange{-4, -2},
                        PercentRange{-3.5, -2.5},
                        12,
                        -3,
                        0.01},
                       {{"bad-merge"},
                        Grounds::kMeasured,
                        20,
                        PercentRange{23.5, 26.25},
                        std::nullopt,
                        40,
                        24.5,
                        0.99,
                        true}};
  report.verification = {true, 1e-7, 1e-4, 2};
  report.verification.bindings = {{{{"<x>", {2, 3, 35}}}, "a <kind>", 11, 1}};
  report.verification.bindings_note = "a second binding would take too long to check";
  report.search = {"mcts", 1.5, 1.4, 1000, 400, 7, "saturated", 33};
  report.search.simulations = 321;
  report.search.states = 123;
  report.search.best_costs = {{0, 0, 100.5}, {0.25, 17, 90}, {1.25, 300, 80.25}};
  report.rules = {
      {"bn-conv", {6, 5, 12, 1, 24.25, 1.5}}, {"fold", {9, 9, 9, 1, 22.75}}, {"<b>", {3, 0, 4}}};
  report.search.resumed = {2, 210, 0.75};
  report.journal = {
      {"bn-conv", "bn1", "BatchNormalization(Conv(x))", "Conv(x)", {"bn-conv", "fold"}}};
  report.why_not = {{.rule = "conv-merge",
                     .node = "<conv2>",
                     .answer = "not_chosen",
                     .text = "it was applied, but not used",
                     .details = {"the best graph with it costs 90 us"},
                     .with_us = 90,
                     .without_us = 80.25},
                    {.rule = "fold", .node = "none", .answer = "no_node", .text = "no such node"}};
  report.gains.by_rules = {
      {.rules = {"bn-conv", "fold"},
       .regions = {{.before = {{"Conv", 2, 40.5}, {"BatchNormalization", 2, 20}},
                    .after = {{"Conv", 2, 38}},
                    .sites = {"<conv1>", "conv2"}},
                   {.before = {{"Relu", 1, 1.25}}, .after = {}, .sites = {"relu"}}}},
      {.regions = {{.before = {{"Add", 1, 3.5}}, .after = {{"Sub", 1, 7}}, .sites = {"sum"}}},
       .estimated = true},
      {.rules = {"a", "b", "c", "d", "e"},
       .regions = {{.before = {{"Exp", 1, 3}}, .after = {{"Log", 1, 3}}, .sites = {"exp"}}}}};
  report.gains.others_us = -0.5;
  report.nodes = {{"bn1", "BatchNormalization", 30.0, std::nullopt, "measured", "", 0.02},
                  {"conv1", "Conv", 70.5, 80.25, "measured", "estimated", 0.01}};
  report.drawn_before = {{"conv1", "Conv", {}, false, 70.5},
                         {"bn1", "BatchNormalization", {0}, true, 30}};
  report.drawn_after = {{"conv1", "Conv", {}, true, 80.25, true}};
  report.phase_seconds = {{"search", 1.5}};
  report.notes = {"batch was taken as 1"};
  return report;
}

}  // namespace quotient::report
