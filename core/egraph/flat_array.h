#pragma once

// FlatArray: a growing array of plain structs made of 32-bit words, whose changes a Trail can undo.
// Large arrays have their own memory mapping with huge pages, so that random access misses the TLB
// less often and growing moves pages instead of bytes. One thread may change it.

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "core/egraph/trail.h"

namespace quotient::egraph {

// Memory for words that can grow in place.
class WordMemory {
 public:
  WordMemory() = default;
  WordMemory(WordMemory&& other) noexcept { Swap(other); }
  WordMemory& operator=(WordMemory&& other) noexcept {
    Swap(other);
    return *this;
  }
  ~WordMemory() { Free(); }

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }

  // Keeps the content. `bytes` must not be less than before.
  void Grow(size_t bytes) {
    void* grown;
    if (bytes < kMapAbove) {
      grown = std::realloc(data_, bytes);
    } else {
      bytes = (bytes + kHugePage - 1) / kHugePage * kHugePage;
      grown = mapped() ? mremap(data_, bytes_, bytes, MREMAP_MAYMOVE) : Map(bytes);
      if (grown == MAP_FAILED) grown = nullptr;
      if (grown != nullptr) madvise(grown, bytes, MADV_HUGEPAGE);
      if (grown != nullptr && !mapped() && data_ != nullptr) {
        std::memcpy(grown, data_, bytes_);
        std::free(data_);
      }
    }
    if (grown == nullptr) throw std::bad_alloc();
    data_ = grown;
    bytes_ = bytes;
  }

  void Swap(WordMemory& other) {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }

 private:
  static constexpr size_t kHugePage = size_t{2} << 20;
  static constexpr size_t kMapAbove = size_t{1} << 18;

  bool mapped() const { return bytes_ >= kMapAbove; }
  static void* Map(size_t bytes) {
    return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  void Free() {
    if (mapped()) {
      munmap(data_, bytes_);
    } else {
      std::free(data_);
    }
  }

  void* data_ = nullptr;
  size_t bytes_ = 0;
};

template <typename T>
class FlatArray {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % 4 == 0);

 public:
  explicit FlatArray(Trail* trail) : trail_(trail), id_(trail->Register(&array_)) {
    array_.stride = kStride;
  }
  FlatArray(const FlatArray&) = delete;
  FlatArray& operator=(const FlatArray&) = delete;

  uint32_t size() const { return array_.size; }
  const T& operator[](size_t i) const { return data()[i]; }
  const T* data() const { return reinterpret_cast<const T*>(array_.words); }
  std::span<const T> span() const { return {data(), size()}; }
  std::span<const uint32_t> words() const { return {array_.words, size_t{size()} * kStride}; }

  void push_back(const T& value) {
    if (array_.size == capacity_) Reserve(capacity_ + 1);
    const T copy = value;  // `value` may lie in this array.
    std::memcpy(array_.words + size_t{array_.size} * kStride, &copy, sizeof(T));
    ++array_.size;
  }

  // Appends one element, for the caller to write.
  T& Append() {
    if (array_.size == capacity_) Reserve(capacity_ + 1);
    return reinterpret_cast<T*>(array_.words)[array_.size++];
  }

  // Appends copies of `value` up to this size. Never shrinks.
  void Extend(uint32_t size, const T& value) {
    if (size <= array_.size) return;
    const T copy = value;  // `value` may lie in this array.
    Reserve(size);
    T* const elements = reinterpret_cast<T*>(array_.words);
    std::fill(elements + array_.size, elements + size, copy);
    array_.size = size;
  }

  void Write(size_t i, const T& value) { WriteWords(i * kStride, value); }

  template <typename F>
  void Write(size_t i, F T::*field, const F& value) {
    const F& place = data()[i].*field;
    WriteWords(reinterpret_cast<const uint32_t*>(&place) - array_.words, value);
  }

  template <typename F, size_t N>
  void Write(size_t i, F (T::*field)[N], size_t at, const F& value) {
    const F& place = (data()[i].*field)[at];
    WriteWords(reinterpret_cast<const uint32_t*>(&place) - array_.words, value);
  }

  // Calls change(element), which may modify the element in place.
  template <typename Change>
  void Edit(size_t i, const Change& change) {
    uint32_t* const words = array_.words + i * kStride;
    T& element = *reinterpret_cast<T*>(words);
    if (i * kStride >= array_.logged_below) return change(element);
    uint32_t before[kStride];
    std::memcpy(before, words, sizeof(T));
    change(element);
    for (size_t word = 0; word < kStride; ++word) {
      if (words[word] == before[word]) continue;
      trail_->Log(id_, static_cast<uint32_t>(i * kStride + word), before[word]);
    }
  }

  // Whether the trail has a mark.
  bool guarded() const { return trail_->active(); }
  // Clear and Fill need a trail without marks; they replace the whole content.
  void Clear() { array_.size = 0; }
  // Becomes `size` copies of `value`.
  void Fill(uint32_t size, const T& value) {
    Clear();
    Reserve(size);
    Extend(size, value);
  }

  void Reserve(size_t elements) {
    if (elements <= capacity_) return;
    const size_t wanted = std::max({elements, size_t{capacity_} + capacity_ / 2, size_t{16}});
    memory_.Grow(wanted * sizeof(T));
    capacity_ = memory_.bytes() / sizeof(T);
    array_.words = static_cast<uint32_t*>(memory_.data());
  }

 private:
  static constexpr size_t kStride = sizeof(T) / 4;  // Words per element.

  template <typename V>
  void WriteWords(size_t at, const V& value) {
    static_assert(sizeof(V) % 4 == 0);
    uint32_t words[sizeof(V) / 4];
    std::memcpy(words, &value, sizeof(V));
    if (at < array_.logged_below) {
      for (size_t i = 0; i < sizeof(V) / 4; ++i) {
        if (array_.words[at + i] == words[i]) continue;
        trail_->Log(id_, static_cast<uint32_t>(at + i), array_.words[at + i]);
      }
    }
    std::memcpy(array_.words + at, words, sizeof(V));
  }

  Trail* const trail_;
  TrailedWords array_;
  const uint32_t id_;
  WordMemory memory_;
  size_t capacity_ = 0;
};

}  // namespace quotient::egraph
