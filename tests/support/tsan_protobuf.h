#pragma once

// Makes generated messages fit Debian's libprotobuf, which is not compiled for the thread
// sanitizer: where the header finds it, MapFieldBase has two members more, and reflection of a map
// reads others than those that were written. Comes before all else in what uses messages, in the
// preset tsan only (deploy/cmake/QuotientTargets.cmake).

// These look for the sanitizer, too, and must find it.
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#pragma push_macro("__SANITIZE_THREAD__")
#undef __SANITIZE_THREAD__
#include <google/protobuf/map_field.h>
#pragma pop_macro("__SANITIZE_THREAD__")
