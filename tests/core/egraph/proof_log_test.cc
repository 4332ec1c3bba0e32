#include "core/egraph/proof_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "core/egraph/trail.h"

namespace quotient::egraph {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ProofLogTest : public ::testing::Test {
 protected:
  // Pattern rules record an application, and then that it has changed the graph. Both have the same
  // match, whose only class is given.
  void AddApplication(Origin origin, uint32_t cls) {
    log_.AddApplication(origin, std::vector<uint32_t>{cls}, {});
  }
  void AddChange(Origin origin, uint32_t cls, uint32_t alternative = 0) {
    log_.AddChange(origin, alternative, std::vector<ClassId>{ClassId(cls)}, {});
  }

  std::vector<Origin> Applications() const {
    std::vector<Origin> origins;
    log_.ForEachApplication(
        [&](const ProofLog::Application& each) { origins.push_back(each.origin); });
    return origins;
  }
  std::vector<Origin> Changes() const {
    std::vector<Origin> origins;
    log_.ForEachChange([&](const ProofLog::Change& each) { origins.push_back(each.origin); });
    return origins;
  }

  Trail trail_;
  ProofLog log_{&trail_};
};

TEST_F(ProofLogTest, AMatchIsReadAsWhatItWasRecordedAs) {
  AddApplication(1, 10);
  AddChange(1, 10, /*alternative=*/3);
  AddApplication(2, 11);  // It changed nothing.
  AddChange(5, 12);       // That rule is no pattern.
  EXPECT_THAT(Applications(), ElementsAre(1, 2));
  EXPECT_THAT(Changes(), ElementsAre(1, 5));
  log_.ForEachChange([](const ProofLog::Change& change) {
    EXPECT_EQ(change.alternative, change.origin == 1 ? 3u : 0u);
    EXPECT_THAT(change.classes, ElementsAre(change.origin == 1 ? 10u : 12u));
  });
}

TEST_F(ProofLogTest, AVoidedApplicationMayHaveChangedTheGraph) {
  AddApplication(1, 10);
  log_.VoidApplication(2);
  EXPECT_THAT(Applications(), ElementsAre(1)) << "it is one of another rule";
  log_.VoidApplication(1);
  AddChange(1, 10);
  EXPECT_THAT(Applications(), IsEmpty());
  EXPECT_THAT(Changes(), ElementsAre(1));
}

TEST_F(ProofLogTest, ARollbackUndoesMatches) {
  AddApplication(1, 10);
  trail_.Mark();
  AddChange(1, 10);
  AddApplication(2, 11);
  AddChange(2, 11);
  trail_.Rollback();
  log_.ForgetLastApplication();
  EXPECT_THAT(Applications(), ElementsAre(1));
  EXPECT_THAT(Changes(), IsEmpty());
  AddChange(2, 11);
  EXPECT_THAT(Changes(), ElementsAre(2));
}

}  // namespace
}  // namespace quotient::egraph
