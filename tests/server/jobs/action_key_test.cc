#include "server/jobs/action_key.h"

#include <gtest/gtest.h>

namespace quotient::jobs {
namespace {

JobSpec Spec() {
  JobSpec spec;
  spec.model.graph = BlobId::Of("graph");
  return spec;
}

TEST(ActionKeyTest, EqualSpecsHaveEqualKeys) {
  EXPECT_EQ(ActionKey(Spec(), {"1"}), ActionKey(Spec(), {"1"}));
  EXPECT_EQ(ActionKey(Spec(), {"1"}).size(), 64u);
}

TEST(ActionKeyTest, TheModelsNameIsNotInTheKey) {
  JobSpec named = Spec();
  named.model_name = "other.onnx";
  EXPECT_EQ(ActionKey(named, {"1"}), ActionKey(Spec(), {"1"}));
}

TEST(ActionKeyTest, ModelOptionsAndEngineAreInTheKey) {
  const std::string key = ActionKey(Spec(), {"1"});
  JobSpec other = Spec();
  other.model.graph = BlobId::Of("another");
  EXPECT_NE(ActionKey(other, {"1"}), key);
  other = Spec();
  other.options.seed = 7;
  EXPECT_NE(ActionKey(other, {"1"}), key);
  EXPECT_NE(ActionKey(Spec(), {"2"}), key);
}

TEST(ActionKeyTest, WhatTheDeviceIsIsInTheKey) {
  const std::string key = ActionKey(Spec(), {"1", "ONNX Runtime 1.31.1"});
  EXPECT_NE(key, ActionKey(Spec(), {"1", "ONNX Runtime 1.31.2"}));
  EXPECT_NE(key, ActionKey(Spec(), {"1"}));
}

TEST(ActionKeyTest, TheSnapshotOfTheDeviceIsInTheKey) {
  JobSpec one = Spec(), other = Spec();
  one.options.device = optimize::SnapshotDevice("one");
  other.options.device = optimize::SnapshotDevice("other");
  EXPECT_NE(ActionKey(one, {"1"}), ActionKey(Spec(), {"1"}));
  EXPECT_NE(ActionKey(one, {"1"}), ActionKey(other, {"1"}));
}

TEST(ActionKeyTest, TheExternalLocationCountsOnlyWhereTheResultMayNeedIt) {
  JobSpec inside = Spec();
  inside.external_location = "x.data";
  EXPECT_EQ(ActionKey(inside, {"1"}), ActionKey(Spec(), {"1"}));

  JobSpec outside = Spec();
  outside.model.external_files["w"] = BlobId::Of("w");
  const std::string key = ActionKey(outside, {"1"});
  outside.external_location = "x.data";
  EXPECT_NE(ActionKey(outside, {"1"}), key);
}

TEST(ActionKeyTest, LocationsCannotRunIntoEachOther) {
  Manifest one;
  one.external_files["a\nexternal b"] = BlobId::Of("x");
  Manifest two;
  two.external_files["a"] = BlobId::Of("x");
  EXPECT_NE(one.CanonicalText(), two.CanonicalText());
}

}  // namespace
}  // namespace quotient::jobs
