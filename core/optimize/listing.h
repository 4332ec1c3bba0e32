#pragma once

// Listing: the first few of many things, and how many more there are.

#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace quotient::optimize {

class Listing {
 public:
  static constexpr size_t kMostListed = 4;

  // `text` makes the text of one more thing. It is called for those that are listed.
  template <typename Text>
  void Add(const Text& text) {
    if (count_++ >= kMostListed) return;
    absl::StrAppend(&text_, text_.empty() ? "" : ", ", text());
  }
  // "a, b, c, d and 3 more", or `none`.
  std::string Text(absl::string_view none) const {
    if (count_ == 0) return std::string(none);
    if (count_ <= kMostListed) return text_;
    return absl::StrCat(text_, " and ", count_ - kMostListed, " more");
  }

 private:
  std::string text_;
  size_t count_ = 0;
};

}  // namespace quotient::optimize
