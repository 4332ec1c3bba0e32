#pragma once

// Who gives way when clients share places and all of them are taken: streams and uploads have such
// places.
//
//   FairPlaces places;
//   places.Add(client);
//   Stream* const stream = places.WhoGivesWay(streams, client, [](const Stream& stream) { ... });

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace quotient::jobs {

// How many places each client has. Thread-compatible.
class FairPlaces {
 public:
  // Whose a place is, and for how long there has been no news of it.
  struct Holder {
    absl::string_view client;
    int64_t idle_ns = 0;
  };

  void Add(absl::string_view client) {
    ++all_;
    ++counts_[client];
  }
  // The client has one.
  void Remove(absl::string_view client) {
    --all_;
    const auto found = counts_.find(client);
    if (--found->second == 0) counts_.erase(found);
  }
  int all() const { return all_; }
  int Of(absl::string_view client) const {
    const auto found = counts_.find(client);
    return found == counts_.end() ? 0 : found->second;
  }

  // Returns which of `places` is to be given to this client: of whoever has most of them, if these
  // are at least two more than the client has, the one without news for longest. So no few clients
  // can keep out all others, and one that has lost a place does not get it back from the one that
  // got it. Null if there is none. `look` returns the holder of a place; nullopt if that does not
  // give way. Takes long only if somebody has so many.
  template <typename Places, typename Look>
  auto WhoGivesWay(Places& places, absl::string_view client, const Look& look) const
      -> decltype(&*std::begin(places)) {
    const int least = Of(client) + 2;
    const bool is_any = std::any_of(counts_.begin(), counts_.end(),
                                    [least](const auto& entry) { return entry.second >= least; });
    if (!is_any) return nullptr;
    decltype(&*std::begin(places)) chosen = nullptr;
    std::pair<int, int64_t> most{least, -1};
    for (auto& place : places) {
      const std::optional<Holder> holder = look(place);
      if (!holder.has_value()) continue;
      const std::pair<int, int64_t> claim{Of(holder->client), holder->idle_ns};
      if (claim <= most) continue;
      most = claim;
      chosen = &place;
    }
    return chosen;
  }

 private:
  int all_ = 0;
  absl::flat_hash_map<std::string, int> counts_;
};

}  // namespace quotient::jobs
