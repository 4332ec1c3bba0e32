#include "core/search/match_memory.h"

namespace quotient::search {
namespace {

// Two independent multiply-xorshift chains over the same words.
class Fingerprint {
 public:
  void Add(uint32_t word) {
    low_ = Mix((low_ ^ word) * 0xbf58476d1ce4e5b9u);
    high_ = Mix((high_ + word) * 0x94d049bb133111ebu);
  }
  absl::uint128 value() const { return absl::MakeUint128(high_, low_); }

 private:
  static uint64_t Mix(uint64_t x) { return x ^ (x >> 31); }

  uint64_t low_ = 0x9e3779b97f4a7c15u;
  uint64_t high_ = 0xd1b54a32d192ed03u;
};

}  // namespace

MatchMemory::Key MatchMemory::KeyOf(size_t rule, const egraph::Match& match) {
  Fingerprint fingerprint;
  fingerprint.Add(static_cast<uint32_t>(rule));
  fingerprint.Add(static_cast<uint32_t>(match.classes.size()));
  for (egraph::ClassId id : match.classes) fingerprint.Add(id.value());
  for (egraph::OpId op : match.ops) fingerprint.Add(op.value());
  return fingerprint.value();
}

}  // namespace quotient::search
