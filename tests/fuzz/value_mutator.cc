#include "tests/fuzz/value_mutator.h"

#include <iterator>
#include <limits>

namespace quotient::testing {
namespace {

// With the first second that no Timestamp has, and the first that no Duration has.
constexpr int64_t kNumbers[] = {0,
                                1,
                                -1,
                                2,
                                7,
                                10,
                                -10,
                                63,
                                64,
                                500,
                                501,
                                4096,
                                1 << 20,
                                (int64_t{2} << 20) + 1,
                                INT32_MAX,
                                INT32_MIN,
                                int64_t{1} << 32,
                                int64_t{1} << 40,
                                1'000'000'000'000,
                                253'402'300'800,
                                315'576'000'001,
                                INT64_MAX / 1000 + 1,
                                INT64_MAX,
                                INT64_MAX - 1,
                                INT64_MIN};
constexpr double kDoubles[] = {0.0,
                               -0.0,
                               1.0,
                               -1.0,
                               0.5,
                               1e-300,
                               1e300,
                               1e18,
                               std::numeric_limits<double>::infinity(),
                               -std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN(),
                               std::numeric_limits<double>::denorm_min()};
const std::string kTexts[] = {"",
                              "a",
                              "jobs/",
                              "jobs/1",
                              "jobs/2",
                              "jobs//",
                              "jobs/../1",
                              ".",
                              "..",
                              "../../etc/passwd",
                              "/etc/passwd",
                              "a/b",
                              "a\nb",
                              std::string("a\0b", 3),
                              "\xc3\xa4",
                              "\xf0\x9f\x98\x80",
                              "%s%n",
                              "'; DROP TABLE job; --",
                              "model:h200",
                              "auto",
                              "cpu",
                              "-1",
                              "9223372036854775807",
                              std::string(300, 'x'),
                              std::string(4097, 'y')};

}  // namespace

int64_t ValueMutator::Number(int64_t now) {
  switch (Below(4)) {
    case 0:
      return static_cast<int64_t>(static_cast<uint64_t>(now) + 1);
    case 1:
      return static_cast<int64_t>(static_cast<uint64_t>(now) - 1);
    case 2:
      return static_cast<int64_t>(rng_.Next() >> Below(64));
    default:
      return kNumbers[Below(std::size(kNumbers))];
  }
}

double ValueMutator::Double(double now) {
  switch (Below(3)) {
    case 0:
      return now * 2;
    case 1:
      return static_cast<double>(kNumbers[Below(std::size(kNumbers))]);
    default:
      return kDoubles[Below(std::size(kDoubles))];
  }
}

std::string ValueMutator::Text(std::string now, bool is_utf8) {
  const size_t at = now.empty() ? 0 : Below(now.size());
  switch (Below(is_utf8 ? 5 : 6)) {
    case 0:
      return texts_.empty() ? "" : texts_[Below(texts_.size())];
    case 1:
      return now.substr(0, at);
    case 2:
      return now.insert(at, 1, static_cast<char>(Below(128)));
    case 3:
      if (!now.empty()) now[at] = static_cast<char>(now[at] & 0x80 ? now[at] : Below(128));
      return now;
    case 4:
      return kTexts[Below(std::size(kTexts))];
    default:
      return now.insert(at, 1, static_cast<char>(Below(256)));
  }
}

}  // namespace quotient::testing
