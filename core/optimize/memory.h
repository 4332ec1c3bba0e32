#pragma once

// WithinMemory: running out of memory is a result and not the end of the process.

#include <new>
#include <type_traits>

namespace quotient::optimize {

// Returns the result of `body`. If memory runs out while it runs, returns that of `otherwise`.
template <typename Body, typename Otherwise>
std::invoke_result_t<Body> WithinMemory(const Body& body, const Otherwise& otherwise) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return otherwise();
  }
}

}  // namespace quotient::optimize
