#include "core/search/progress.h"

#include <gtest/gtest.h>

#include "core/search/field_stream.h"

namespace quotient::search {
namespace {

class SetClock final : public Clock {
 public:
  int64_t NowNs() const override { return ns; }
  int64_t UnixMs() const override { return 0; }
  int64_t ns = 5'000'000'000;
};

TEST(Progress, CountsFromTheStart) {
  SetClock clock;
  Progress progress(&clock);
  clock.ns += 2'000'000'000;
  progress.CountSimulation();
  EXPECT_DOUBLE_EQ(progress.Now().seconds, 2);
  EXPECT_EQ(progress.Now().simulations, 1);
}

TEST(Progress, IncludesWhatWasDoneBeforeAnInterruption) {
  SetClock clock;
  Progress before(&clock);
  before.CountSimulation();
  FieldWriter writer;
  before.VisitSimulations(writer);
  const std::string bytes = writer.Take();

  Progress after(&clock);
  FieldReader reader(bytes);
  after.VisitSimulations(reader);
  after.AddSeconds(3);
  after.CountSimulation();
  EXPECT_DOUBLE_EQ(after.seconds(), 3);
  EXPECT_EQ(after.simulations(), 2);
}

}  // namespace
}  // namespace quotient::search
