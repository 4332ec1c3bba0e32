#pragma once

// Changes serialized messages field by field, for targets whose input is a message: changed bytes
// are rarely a message any more, and hardly ever one that says something else. A target defines the
// functions by which both engines (libFuzzer and mutation_main.cc) find it:
//
//   QUOTIENT_MUTATES_MESSAGES(v1::CallScript)

#include <google/protobuf/message.h>

#include <cstddef>
#include <cstdint>

namespace quotient::testing {

// Makes one to four changes to the message that `data` holds: sets a field to a value that is often
// a limit, or clears it; adds, removes, repeats or swaps elements; copies a text from one field to
// another. Bytes that are no message stay as they are, as does a message that would not fit any
// more. Returns the new size. The same seed makes the same changes. `message` is of the type that
// is meant; what it holds is lost.
size_t MutateMessage(google::protobuf::Message* message, uint8_t* data, size_t size,
                     size_t max_size, unsigned seed);

// Writes the first message to `out`, with a part of the second one in the place of a part of the
// same type, or beside it. Returns its size, or 0 if these are no messages or do not fit.
size_t CrossMessages(google::protobuf::Message* message, const uint8_t* first, size_t first_size,
                     const uint8_t* second, size_t second_size, uint8_t* out, size_t max_size,
                     unsigned seed);

}  // namespace quotient::testing

#define QUOTIENT_MUTATES_MESSAGES(Type)                                                            \
  extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,           \
                                            unsigned seed) {                                       \
    Type message;                                                                                  \
    return quotient::testing::MutateMessage(&message, data, size, max_size, seed);                 \
  }                                                                                                \
  extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* first, size_t first_size,             \
                                              const uint8_t* second, size_t second_size,           \
                                              uint8_t* out, size_t max_size, unsigned seed) {      \
    Type message;                                                                                  \
    return quotient::testing::CrossMessages(&message, first, first_size, second, second_size, out, \
                                            max_size, seed);                                       \
  }
