#include "core/ops/window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/rng.h"
#include "core/ops/support.h"
#include "tests/support/status_matchers.h"

namespace quotient::ops {
namespace {

using model::AttributeMap;
using model::Dim;
using model::Ints;
using ::testing::ElementsAre;
using testing::HasReason;
using ::testing::HasSubstr;

Window MakeWindow(Ints kernel, Ints strides, Ints dilations, Ints begin, Ints end) {
  return {std::move(kernel), std::move(strides), std::move(dilations), std::move(begin),
          std::move(end)};
}

TEST(ReadWindow, DefaultsAreUnitStridesWithoutPadding) {
  ASSERT_OK_AND_ASSIGN(const Window window, ReadWindow({}, {3, 5}, std::vector<Dim>{8, 9}));
  EXPECT_THAT(window.strides, ElementsAre(1, 1));
  EXPECT_THAT(window.dilations, ElementsAre(1, 1));
  EXPECT_THAT(window.pads_begin, ElementsAre(0, 0));
  EXPECT_THAT(window.pads_end, ElementsAre(0, 0));
}

TEST(ReadWindow, SamePaddingPutsTheOddOneWhereItIsTold) {
  const std::vector<Dim> input{8};
  const AttributeMap upper{{"auto_pad", std::string("SAME_UPPER")}, {"strides", Ints{2}}};
  ASSERT_OK_AND_ASSIGN(const Window behind, ReadWindow(upper, {3}, input));
  EXPECT_THAT(behind.pads_begin, ElementsAre(0));
  EXPECT_THAT(behind.pads_end, ElementsAre(1));
  const AttributeMap lower{{"auto_pad", std::string("SAME_LOWER")}, {"strides", Ints{2}}};
  ASSERT_OK_AND_ASSIGN(const Window before, ReadWindow(lower, {3}, input));
  EXPECT_THAT(before.pads_begin, ElementsAre(1));
  EXPECT_THAT(before.pads_end, ElementsAre(0));
}

TEST(ReadWindow, SamePaddingOfASymbolIsKnownOnlyForUnitStride) {
  const std::vector<Dim> input{Dim::Symbol("H")};
  AttributeMap attributes{{"auto_pad", std::string("SAME_UPPER")}};
  ASSERT_OK_AND_ASSIGN(const Window unit, ReadWindow(attributes, {3}, input));
  EXPECT_TRUE(unit.pads_known);
  EXPECT_THAT(unit.pads_begin, ElementsAre(1));
  attributes.Set("strides", Ints{2});
  ASSERT_OK_AND_ASSIGN(const Window strided, ReadWindow(attributes, {3}, input));
  EXPECT_FALSE(strided.pads_known);
}

TEST(ReadWindow, NamesTheAttributeThatIsWrong) {
  const std::vector<Dim> input{8, 8};
  const auto read = [&](const AttributeMap& attributes) {
    return ReadWindow(attributes, {3, 3}, input);
  };
  EXPECT_THAT(read({{"strides", Ints{1}}}), HasReason(Reason::kModelShape, HasSubstr("strides")));
  EXPECT_THAT(read({{"strides", Ints{1, 0}}}),
              HasReason(Reason::kModelShape, HasSubstr("strides")));
  EXPECT_THAT(read({{"dilations", Ints{1, -1}}}),
              HasReason(Reason::kModelShape, HasSubstr("dilations")));
  EXPECT_THAT(read({{"pads", Ints{1, 1}}}), HasReason(Reason::kModelShape, HasSubstr("pads")));
  EXPECT_THAT(read({{"pads", Ints{0, 0, -1, 0}}}),
              HasReason(Reason::kModelShape, HasSubstr("pads")));
  EXPECT_THAT(read({{"pads", Ints{0, 0, int64_t{1} << 40, 0}}}),
              HasReason(Reason::kModelShape, HasSubstr("pads")));
  EXPECT_THAT(read({{"auto_pad", std::string("SOME")}}),
              HasReason(Reason::kModelShape, HasSubstr("auto_pad")));
  EXPECT_THAT(ReadWindow({}, {0, 3}, input), HasReason(Reason::kModelShape, HasSubstr("kernel")));
  EXPECT_THAT(ReadWindow({}, {int64_t{1} << 30, 3}, input),
              HasReason(Reason::kModelShape, HasSubstr("elements")));
  EXPECT_THAT(ReadWindow({}, {3}, input), HasReason(Reason::kModelShape, HasSubstr("axes")));
}

TEST(OutputDim, CountsPlacesOfTheWindow) {
  const Window window = MakeWindow({3}, {2}, {1}, {0}, {0});
  EXPECT_EQ(OutputDim(window, 0, 7, false).value(), Dim(3));
  EXPECT_EQ(OutputDim(window, 0, 8, false).value(), Dim(3));
  EXPECT_EQ(OutputDim(window, 0, 8, true).value(), Dim(4));
  EXPECT_EQ(OutputDim(window, 0, 3, false).value(), Dim(1));
  EXPECT_THAT(OutputDim(window, 0, 2, false),
              HasReason(Reason::kModelShape, HasSubstr("does not fit")));
  EXPECT_THAT(OutputDim(window, 0, std::numeric_limits<int64_t>::max(), false).status().code(),
              absl::StatusCode::kOk);
}

TEST(OutputDim, CeilModeBeginsNoWindowInThePaddingBehind) {
  // Places 0, 3 and 6 of an input of 4 with padding 1: position 6 is behind the input.
  const Window window = MakeWindow({2}, {3}, {1}, {1}, {2});
  EXPECT_EQ(OutputDim(window, 0, 4, true).value(), Dim(2));
}

TEST(OutputDim, SaysHowASymbolChanges) {
  const Dim h = Dim::Symbol("H");
  EXPECT_EQ(OutputDim(MakeWindow({3}, {1}, {1}, {1}, {1}), 0, h, false).value(), h);
  EXPECT_EQ(OutputDim(MakeWindow({3}, {1}, {2}, {2}, {2}), 0, h, false).value(), h);
  EXPECT_EQ(OutputDim(MakeWindow({3}, {1}, {1}, {0}, {1}), 0, h, false).value(),
            Dim::Symbol("?floor((H-1)/1)"));
  EXPECT_EQ(OutputDim(MakeWindow({3}, {1}, {1}, {2}, {2}), 0, h, false).value(),
            Dim::Symbol("?(H+2)"));
  const Window halved = MakeWindow({1}, {2}, {1}, {0}, {0});
  EXPECT_EQ(OutputDim(halved, 0, h, false).value(), Dim::Symbol("?floor((H+1)/2)"));
  EXPECT_EQ(OutputDim(halved, 0, h, true).value(), Dim());
  const Window beyond = MakeWindow({1}, {1}, {1}, {0}, {2});
  EXPECT_EQ(OutputDim(beyond, 0, h, true).value(), Dim());
}

TEST(WriteWindow, LeavesOutWhatSaysNothing) {
  AttributeMap attributes{{"auto_pad", std::string("VALID")}, {"strides", Ints{1, 1}}};
  WriteWindow(MakeWindow({3, 3}, {1, 1}, {1, 1}, {0, 0}, {0, 0}), attributes);
  EXPECT_EQ(attributes, AttributeMap{});
  WriteWindow(MakeWindow({3, 3}, {1, 2}, {1, 1}, {0, 1}, {2, 3}), attributes);
  EXPECT_EQ(model::ToString(attributes), "{pads=[0,1,2,3], strides=[1,2]}");
}

// Where a tap looks along one axis; -1 outside.
int64_t Seen(const Window& window, const Ints& plane, size_t axis, int64_t position, int64_t tap) {
  const int64_t at =
      position * window.strides[axis] + tap * window.dilations[axis] - window.pads_begin[axis];
  return at >= 0 && at < plane[axis] ? at : -1;
}

struct Geometry {
  Window window;
  Ints plane;
  Ints positions;
};

std::vector<Geometry> Geometries() {
  return {
      {MakeWindow({3}, {1}, {1}, {1}, {1}), {7}, {7}},
      {MakeWindow({3}, {2}, {2}, {3}, {1}), {6}, {3}},
      {MakeWindow({2, 3}, {1, 2}, {2, 1}, {0, 2}, {1, 0}), {5, 6}, {4, 3}},
      {MakeWindow({1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}), {3, 4}, {3, 4}},
      {MakeWindow({1, 1}, {2, 3}, {1, 1}, {0, 0}, {0, 0}), {5, 7}, {3, 3}},
      {MakeWindow({2, 2, 2}, {2, 1, 1}, {1, 1, 3}, {1, 0, 2}, {0, 1, 2}), {4, 3, 5}, {2, 3, 6}},
      {MakeWindow({5}, {1}, {4}, {9}, {9}), {2}, {4}},  // most taps see padding only
  };
}

// What Gather must give, one element at a time.
std::vector<double> NaiveGather(const Geometry& g, const std::vector<double>& plane, int64_t tap) {
  std::vector<double> out;
  const BoxIndex taps(g.window.kernel, tap);
  for (BoxIndex position(g.positions); position.valid(); position.Next()) {
    int64_t at = 0;
    bool inside = true;
    for (size_t axis = 0; axis < g.plane.size(); ++axis) {
      const int64_t seen = Seen(g.window, g.plane, axis, position[axis], taps[axis]);
      inside &= seen >= 0;
      at = at * g.plane[axis] + seen;
    }
    out.push_back(inside ? plane[at] : -7);
  }
  return out;
}

TEST(WindowTaps, GathersWhatEachTapSees) {
  for (const Geometry& g : Geometries()) {
    const WindowTaps taps(g.window, g.plane, g.positions);
    std::vector<double> plane(taps.plane_size());
    for (size_t i = 0; i < plane.size(); ++i) plane[i] = static_cast<double>(i + 1);
    for (int64_t tap = 0; tap < taps.taps(); ++tap) {
      std::vector<double> out(taps.positions());
      taps.Gather(plane.data(), tap, 0, -7, out);
      EXPECT_EQ(out, NaiveGather(g, plane, tap)) << "tap " << tap;
    }
  }
}

TEST(WindowTaps, GathersAnyRange) {
  for (const Geometry& g : Geometries()) {
    const WindowTaps taps(g.window, g.plane, g.positions);
    std::vector<double> plane(taps.plane_size(), 1);
    for (size_t i = 0; i < plane.size(); ++i) plane[i] = static_cast<double>(i);
    const int64_t tap = taps.taps() - 1;
    const std::vector<double> all = NaiveGather(g, plane, tap);
    for (int64_t begin = 0; begin < taps.positions(); ++begin) {
      std::vector<double> out(std::min<int64_t>(5, taps.positions() - begin));
      taps.Gather(plane.data(), tap, begin, -7, out);
      EXPECT_TRUE(std::equal(out.begin(), out.end(), all.begin() + begin));
    }
  }
}

TEST(WindowTaps, ScatterIsTheAdjointOfGather) {
  // <gather(x), y> = <x, scatter(y)> for all x, y.
  Rng rng(11);
  for (const Geometry& g : Geometries()) {
    const WindowTaps taps(g.window, g.plane, g.positions);
    for (int64_t tap = 0; tap < taps.taps(); ++tap) {
      std::vector<double> x(taps.plane_size()), y(taps.positions());
      for (double& value : x) value = static_cast<double>(rng.Below(10));
      for (double& value : y) value = static_cast<double>(rng.Below(10));
      std::vector<double> gathered(y.size()), scattered(x.size(), 0);
      taps.Gather(x.data(), tap, 0, 0, gathered);
      taps.Scatter(y, tap, scattered.data());
      double left = 0, right = 0;
      for (size_t i = 0; i < y.size(); ++i) left += gathered[i] * y[i];
      for (size_t i = 0; i < x.size(); ++i) right += x[i] * scattered[i];
      EXPECT_EQ(left, right);
    }
  }
}

}  // namespace
}  // namespace quotient::ops
