#pragma once

#include "absl/strings/string_view.h"

namespace quotient::pages {

// The script that brings a page up to date while it is shown. Pages are complete without it: where
// scripts are off, browsers load the page anew now and then.
absl::string_view LiveScript();

}  // namespace quotient::pages
