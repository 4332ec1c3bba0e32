#pragma once

// Random numbers that are the same on every machine and with every standard library: SplitMix64
// (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA'14). A stream is
// identified by (seed, stream) and never shared between threads.

#include <cstdint>

namespace quotient {

class Rng {
 public:
  explicit Rng(uint64_t seed, uint64_t stream = 0)
      : state_(Mix(seed) ^ Mix(stream * 0x9e3779b97f4a7c15u + 0x1234567u)) {}

  // A generator that continues from a saved state().
  static Rng FromState(uint64_t state) {
    Rng rng(0);
    rng.state_ = state;
    return rng;
  }
  uint64_t state() const { return state_; }

  uint64_t Next() { return Mix(state_ += 0x9e3779b97f4a7c15u); }

  // Uniform in [0, 1).
  double NextDouble() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

  // Uniform in [low, high); low < high.
  double Uniform(double low, double high) { return low + (high - low) * NextDouble(); }

  // Uniform in [0, bound); bound > 0. The bias of the multiplication method is below 2^-32 for
  // bounds below 2^32.
  uint64_t Below(uint64_t bound) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(Next()) * bound) >> 64);
  }

 private:
  static uint64_t Mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  uint64_t state_;
};

}  // namespace quotient
