#include "core/optimize/options.h"

#include <gtest/gtest.h>

#include "core/base/reason.h"

namespace quotient::optimize {
namespace {

TEST(OptionsTest, DefaultsAreValid) { EXPECT_TRUE(Options().Validate().ok()); }

TEST(OptionsTest, EachBadValueNamesItsOption) {
  const auto message = [](auto change) {
    Options options;
    change(options);
    const absl::Status status = options.Validate();
    EXPECT_EQ(GetReason(status), Reason::kOptionInvalid);
    return std::string(status.message());
  };
  EXPECT_EQ(message([](Options& o) { o.device = "tpu"; }).find("device"), 0u);
  EXPECT_EQ(message([](Options& o) { o.strategy = "luck"; }).find("strategy"), 0u);
  EXPECT_EQ(message([](Options& o) { o.budget_seconds = -1; }).find("budget"), 0u);
  EXPECT_EQ(message([](Options& o) { o.search_budget_seconds = 31; }).find("search-budget"), 0u);
  EXPECT_EQ(message([](Options& o) { o.max_nodes = 0; }).find("max-nodes"), 0u);
  EXPECT_EQ(message([](Options& o) { o.max_simulations = -1; }).find("simulations"), 0u);
  EXPECT_EQ(message([](Options& o) { o.threads = 1000; }).find("threads"), 0u);
  EXPECT_EQ(message([](Options& o) { o.max_opset = -1; }).find("max-opset"), 0u);
  EXPECT_EQ(message([](Options& o) { o.disabled_rules = {"x"}; }).find("disabled_rules"), 0u);
  EXPECT_EQ(message([](Options& o) { o.shapes["x"] = {-1}; }).find("shape"), 0u);
  EXPECT_EQ(message([](Options& o) { o.measure_shapes["x"] = {int64_t{1} << 50}; }).find("measure"),
            0u);
}

TEST(OptionsTest, ASearchMayHaveTheWholeBudget) {
  Options options;
  options.search_budget_seconds = options.budget_seconds;
  EXPECT_TRUE(options.Validate().ok());
}

TEST(OptionsTest, ASnapshotIsADeviceByItsContent) {
  Options options;
  options.device = SnapshotDevice("hello");
  EXPECT_TRUE(options.Validate().ok());
  EXPECT_EQ(options.device,
            "snapshot:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824/5");
  EXPECT_EQ(SnapshotOf(options.device), BlobId::Of("hello"));
  EXPECT_EQ(SnapshotOf("cpu"), std::nullopt);
  const std::string digest(64, 'a');
  for (const std::string& name :
       std::vector<std::string>{"snapshot:", "snapshot:" + digest, "snapshot:" + digest + "/x",
                                "snapshot:" + digest + "/99999999999"}) {
    options.device = name;
    EXPECT_EQ(GetReason(options.Validate()), Reason::kOptionInvalid) << name;
  }
}

TEST(OptionsTest, CanonicalTextTellsOptionsApart) {
  const Options plain;
  EXPECT_EQ(plain.CanonicalText(), Options().CanonicalText());
  Options a, b;
  a.shapes["x"] = {1, 2};
  b.measure_shapes["x"] = {1, 2};
  EXPECT_NE(a.CanonicalText(), plain.CanonicalText());
  EXPECT_NE(a.CanonicalText(), b.CanonicalText());
  a = b = Options();
  a.max_simulations = 7;
  EXPECT_NE(a.CanonicalText(), b.CanonicalText());
  a = b = Options();
  a.freeze_initializers = true;
  EXPECT_NE(a.CanonicalText(), b.CanonicalText());
  a = b = Options();
  a.assume_finite_inputs = true;
  EXPECT_NE(a.CanonicalText(), b.CanonicalText());
  a = b = Options();
  a.disabled_rules = {"p", "q"};
  b.disabled_rules = {"q", "p"};
  EXPECT_EQ(a.CanonicalText(), b.CanonicalText());
}

TEST(ParseShapeOptionTest, ReadsAndRefuses) {
  std::map<std::string, std::vector<int64_t>> shapes;
  ASSERT_TRUE(ParseShapeOption("input=1,3,224,224", &shapes).ok());
  ASSERT_TRUE(ParseShapeOption("a=b=2", &shapes).ok());
  ASSERT_TRUE(ParseShapeOption("scalar=", &shapes).ok());
  EXPECT_EQ(shapes["input"], (std::vector<int64_t>{1, 3, 224, 224}));
  EXPECT_EQ(shapes["a=b"], (std::vector<int64_t>{2}));
  EXPECT_TRUE(shapes["scalar"].empty());
  for (const char* text :
       {"", "x", "=1", "x=1,b", "x=-1", "x=1,99999999999999999999", "x=1,2,", "x=,1,2", "x=1,,2",
        "x=,", "x= 1", "x=1, 2", "x=1,2 ", "x= ", "x=+1", "input=1,3,224,224", "scalar="}) {
    EXPECT_EQ(GetReason(ParseShapeOption(text, &shapes)), Reason::kOptionInvalid) << text;
  }
  EXPECT_EQ(shapes.size(), 3u);
}

TEST(ParseDurationTest, ReadsAndRefuses) {
  const auto seconds = [](absl::string_view text) {
    double value = -1;
    return ParseDuration(text, &value).ok() ? value : -1;
  };
  EXPECT_EQ(seconds("30s"), 30);
  EXPECT_EQ(seconds("1.5"), 1.5);
  EXPECT_EQ(seconds("250ms"), 0.25);
  EXPECT_EQ(seconds("2m"), 120);
  EXPECT_EQ(seconds("1h"), 3600);
  for (const char* text : {"", "s", "-1s", "nan", "inf", "3 days", "1e999"}) {
    EXPECT_EQ(seconds(text), -1) << text;
  }
}

}  // namespace
}  // namespace quotient::optimize
