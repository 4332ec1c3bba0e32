#include "core/optimize/job_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/reason.h"

namespace quotient::optimize {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::StartsWith;

// Converts to the type of any member.
struct Anything {
  template <typename T>
  operator T() const;
};

template <typename T, size_t... kIndex>
constexpr bool TakesMembers(std::index_sequence<kIndex...>) {
  return requires { T{(static_cast<void>(kIndex), Anything{})...}; };
}

// The number of members of an aggregate.
template <typename T, size_t kCount = 32>
constexpr size_t CountMembers() {
  if constexpr (TakesMembers<T>(std::make_index_sequence<kCount>())) {
    return kCount;
  } else {
    return CountMembers<T, kCount - 1>();
  }
}

// Another value than the default, and another one for each row.
void Change(Options* options, bool Options::*field, int) { options->*field = true; }
void Change(Options* options, std::string Options::*field, int row) {
  options->*field = absl::StrCat("word", row);
}
void Change(Options* options, Shapes Options::*field, int row) { (options->*field)["x"] = {row}; }
void Change(Options* options, Words Options::*field, int row) {
  options->*field = {absl::StrCat("word", row)};
}
template <typename Number>
void Change(Options* options, Number Options::*field, int row) {
  options->*field = static_cast<Number>(1000 + row);
}

TEST(JobOptionsTest, EveryFieldHasARow) { EXPECT_EQ(JobOptions().size(), CountMembers<Options>()); }

TEST(JobOptionsTest, EveryRowIsOfAnotherFieldWithOtherNames) {
  std::set<std::string> keys, wire_names, flags, texts;
  for (int row = 0; row < static_cast<int>(JobOptions().size()); ++row) {
    const JobOption& option = JobOptions()[row];
    Options changed;
    std::visit([&](auto field) { Change(&changed, field, row); }, option.field);
    EXPECT_NE(changed, Options()) << option.key;
    EXPECT_TRUE(texts.insert(changed.CanonicalText()).second) << option.key;
    EXPECT_TRUE(keys.insert(option.key).second) << option.key;
    EXPECT_TRUE(wire_names.insert(option.wire_name).second) << option.key;
    EXPECT_TRUE(flags.insert(option.flag).second) << option.key;
  }
  EXPECT_FALSE(texts.contains(Options().CanonicalText()));
}

// Stored results are found by this text, so these lines stay, and in this order.
TEST(JobOptionsTest, TheCanonicalTextOfAnOptionNeverChanges) {
  const auto lines_of = [](const Options& options) {
    return std::vector<std::string>(absl::StrSplit(options.CanonicalText(), '\n'));
  };
  EXPECT_THAT(
      lines_of(Options()),
      IsSupersetOf(
          {"options-v1", "device=auto", "strategy=mcts", "budget=30", "max_nodes=50000",
           "max_simulations=0", "threads=0", "seed=0", "max_opset=0", "assume_finite_inputs=0",
           "verify_inputs=2", "shapes=", "measure_shapes=", "freeze_initializers=0",
           "disabled_rules=", "why_not=", "kept_values=", "max_folded_bytes=1048576", ""}));
  EXPECT_THAT(
      Options().CanonicalText(),
      AllOf(StartsWith("options-v1\ndevice=auto\nstrategy=mcts\nbudget=30\n"),
            HasSubstr("\nmeasure_shapes=\nfreeze_initializers=0\ndisabled_rules=\nwhy_not=\n")));
  Options options;
  options.budget_seconds = 0.1;
  options.seed = ~uint64_t{0};
  options.assume_finite_inputs = true;
  options.shapes = {{"x", {1, 2}}, {"scalar", {}}};
  options.disabled_rules = {"q", "p"};
  options.why_not = {"r@a,b", "r@a\n"};
  EXPECT_THAT(lines_of(options),
              IsSupersetOf({"budget=0.10000000000000001", "seed=18446744073709551615",
                            "assume_finite_inputs=1", "shapes=6:scalar=;1:x=1,2;",
                            "disabled_rules=p,q", "why_not=r@a\\n,r@a\\x2cb"}));
}

TEST(JobOptionsTest, NumbersOutOfRangeNameTheirFlag) {
  for (const JobOption& option : JobOptions()) {
    if (option.most == std::numeric_limits<int64_t>::max()) continue;
    for (const int64_t value : {option.least - 1, option.most + 1}) {
      Options options;
      std::visit(
          [&](auto field) {
            if constexpr (std::is_arithmetic_v<std::remove_reference_t<decltype(options.*field)>>) {
              options.*field =
                  static_cast<std::remove_reference_t<decltype(options.*field)>>(value);
            }
          },
          option.field);
      const absl::Status status = options.Validate();
      EXPECT_EQ(GetReason(status), Reason::kOptionInvalid) << option.flag;
      EXPECT_THAT(std::string(status.message()),
                  StartsWith(absl::StrCat(option.flag, ": must be from ")));
    }
  }
}

TEST(JobOptionsTest, TextIsReadByTheTypeOfTheField) {
  const auto set = [](absl::string_view flag, absl::string_view text, Options* options) {
    for (const JobOption& option : JobOptions()) {
      if (flag == option.flag) return SetFromText(option, text, options);
    }
    return absl::NotFoundError(flag);
  };
  Options options;
  EXPECT_TRUE(set("budget", "2m", &options).ok());
  EXPECT_TRUE(set("seed", "18446744073709551615", &options).ok());
  EXPECT_TRUE(set("freeze-initializers", "", &options).ok());
  EXPECT_TRUE(set("disable-rule", "p", &options).ok());
  EXPECT_TRUE(set("disable-rule", "q", &options).ok());
  EXPECT_TRUE(set("shape", "x=1,2", &options).ok());
  EXPECT_EQ(options.budget_seconds, 120);
  EXPECT_EQ(options.seed, ~uint64_t{0});
  EXPECT_TRUE(options.freeze_initializers);
  EXPECT_EQ(options.disabled_rules, (Words{"p", "q"}));
  EXPECT_EQ(options.shapes.at("x"), (std::vector<int64_t>{1, 2}));
  for (const auto& [flag, text] : {std::pair("threads", "99999999999"), std::pair("threads", "two"),
                                   std::pair("device", ""), std::pair("budget", "soon")}) {
    EXPECT_EQ(GetReason(set(flag, text, &options)), Reason::kOptionInvalid) << flag;
  }
}

}  // namespace
}  // namespace quotient::optimize
