#include "proto/wire/options.h"

#include <gtest/gtest.h>

#include "core/optimize/job_options.h"
#include "proto/wire/digest.h"
#include "tests/support/status_matchers.h"

namespace quotient::wire {
namespace {

using ::quotient::testing::HasReason;

TEST(OptionsTest, UnsetFieldsHaveTheDefaultsOfTheCore) {
  EXPECT_EQ(FromProto(v1::OptimizeOptions()), optimize::Options());
}

// Each option of a job has the field of its row, and each field has a row.
TEST(OptionsTest, FieldsAndRowsCorrespond) {
  const auto* const descriptor = v1::OptimizeOptions::descriptor();
  for (const optimize::JobOption& option : optimize::JobOptions()) {
    const auto* const field = descriptor->FindFieldByName(option.wire_name);
    ASSERT_NE(field, nullptr) << "options.proto has no field " << option.wire_name;
    EXPECT_TRUE(field->is_repeated() || field->has_presence())
        << "options.proto: " << option.wire_name << " has to be optional";
  }
  EXPECT_EQ(static_cast<size_t>(descriptor->field_count()), optimize::JobOptions().size());
}

TEST(OptionsTest, EveryFieldSurvives) {
  optimize::Options options;
  options.device = "model:h200";
  options.strategy = "other";
  options.budget_seconds = 0.25;
  options.search_budget_seconds = 0.125;
  options.max_nodes = 7;
  options.max_simulations = 11;
  options.threads = 3;
  options.seed = ~uint64_t{0};
  options.max_opset = 17;
  options.shapes["x"] = {1, 2};
  options.measure_shapes["y"] = {};
  options.disabled_rules = {"r"};
  options.why_not = {"r@node"};
  options.assume_finite_inputs = true;
  options.verify_inputs = 5;
  options.freeze_initializers = true;
  EXPECT_EQ(FromProto(ToProto(options)), options);
  // A field that is added to the options and forgotten here would not change the text.
  EXPECT_EQ(FromProto(ToProto(options)).CanonicalText(), options.CanonicalText());
}

TEST(OptionsTest, ZeroIsAValueAndNotAnUnsetField) {
  v1::OptimizeOptions message;
  message.set_budget_seconds(0);
  message.set_verify_inputs(0);
  EXPECT_EQ(FromProto(message).budget_seconds, 0);
  EXPECT_EQ(FromProto(message).verify_inputs, 0);
}

TEST(DigestTest, RoundTripsAndRefuses) {
  const BlobId id = BlobId::Of("hello");
  ASSERT_OK_AND_ASSIGN(const BlobId back, FromProto(ToProto(id)));
  EXPECT_EQ(back, id);
  v1::Digest digest = ToProto(id);
  digest.set_size_bytes(-1);
  EXPECT_THAT(FromProto(digest), HasReason(Reason::kBadDigest));
  digest.set_size_bytes(5);
  digest.set_sha256("XYZ");
  EXPECT_THAT(FromProto(digest), HasReason(Reason::kBadDigest));
}

}  // namespace
}  // namespace quotient::wire
