// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The one pass of the unscale kernels: read, divide, store, and look at what
// was stored, in registers.
//
// Included by kernels alone, after Eigen and after their own
//
//   void Load(const std::byte* from, Group<float>& group, In, Out);
//   template <typename Out> struct Words;      a group of 16 bits an element
//   Words<Out> LoadWords(const std::byte* from, Out);
//   Words<Out> Narrow(const Group<float>& group, Out);
//   void Widen(const Words<Out>& words, Group<float>& group);
//   void StoreWords(const Words<Out>& words, std::byte* to);
//   template <typename Out> class WordsMaximum;
//                                              Raise(Words<Out>), maximum():
//                                              the largest without its sign
//
// In and Out are Float16, BFloat16 or, as Out, float. Where both have 16 bits
// a group may hold its elements in another order. A NaN that is narrowed stays
// one and keeps its sign, whatever its payload.

#ifndef LOSSSCALER_CORE_UNSCALE_PASS_H_
#define LOSSSCALER_CORE_UNSCALE_PASS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lossscaler/core/sixteen_bits.h"
#include "lossscaler/core/unscale_group.h"
#include "lossscaler/core/unscale_kernel.h"
#include "lossscaler/core/vanished_counter.h"

namespace lossscaler {
namespace {  // NOLINT(google-build-namespaces)

// What the arithmetic of a stored type is done in.
template <typename Stored>
struct ArithmeticOf {
  using Type = float;
};
template <>
struct ArithmeticOf<double> {
  using Type = double;
};
template <typename Stored>
using Arithmetic = typename ArithmeticOf<Stored>::Type;

template <typename A, typename B>
inline constexpr bool kSame = false;
template <typename A>
inline constexpr bool kSame<A, A> = true;

template <std::size_t kSize>
struct Unsigned {
  using Type = std::uint32_t;
};
template <>
struct Unsigned<8> {
  using Type = std::uint64_t;
};
template <std::size_t kSize>
using UnsignedOf = typename Unsigned<kSize>::Type;

template <typename Stored>
inline constexpr bool kIsSixteenBits = sizeof(Stored) == 2;

// Few enough elements for a float32 sum, or to be looked at again in the cache.
template <bool kStatistics>
inline constexpr std::size_t kBlockElements = kStatistics ? 1024 : 4096;

template <typename T>
inline constexpr T kInfinity = static_cast<T>(__builtin_inf());

template <typename T>
bool IsFinite(T value) {
  return value - value == T{0};
}

// The operations. Each is given a value, or a packet of them, and returns it
// unscaled.
template <typename T>
struct Keep {
  static constexpr bool kChanges = false;
  explicit Keep(double /*factor*/) {}
  T operator()(T value) const { return value; }
  Packet<T> OfPacket(const Packet<T>& value) const { return value; }
};

template <typename T>
struct Multiply {
  static constexpr bool kChanges = true;
  explicit Multiply(double multiplier) : factor(static_cast<T>(multiplier)) {}
  T operator()(T value) const { return value * factor; }
  Packet<T> OfPacket(const Packet<T>& value) const {
    return Eigen::internal::pmul(value,
                                 Eigen::internal::pset1<Packet<T>>(factor));
  }
  T factor;
};

template <typename T>
struct Divide {
  static constexpr bool kChanges = true;
  explicit Divide(double divisor) : factor(static_cast<T>(divisor)) {}
  T operator()(T value) const { return value / factor; }
  Packet<T> OfPacket(const Packet<T>& value) const {
    return Eigen::internal::pdiv(value,
                                 Eigen::internal::pset1<Packet<T>>(factor));
  }
  T factor;
};

inline bool IsStoredAsZero(float value, float /*stored_type*/) {
  return value == 0.0f;
}
inline bool IsStoredAsZero(double value, double /*stored_type*/) {
  return value == 0.0;
}
template <typename Sixteen>
bool IsStoredAsZero(float value, Sixteen stored_type) {
  return Nearest(value, stored_type).bits == 0;
}

template <typename Out, typename Operation>
Arithmetic<Out> LargestThatVanishes(const Operation& operation) {
  using T = Arithmetic<Out>;
  using Bits = UnsignedOf<sizeof(T)>;
  if constexpr (!Operation::kChanges) return T{0};
  return LargestThat<T, Bits>(
      [&](T value) { return IsStoredAsZero(operation(value), Out{}); });
}

// A block of whole groups that has been stored at `stored`.
template <typename T>
struct Block {
  std::byte* stored;
  std::size_t groups;
  // Of its first element in the call.
  std::uint64_t first_index;
};

// In float32 the squares of 1,024 values up to 2^58 stay below infinity, and
// what the squares of the smaller ones lose to underflow (at most 2^-150 each)
// is less than 2^-39 of the square of a maximum of 2^-50.
inline bool CanSum(float maximum) {
  return maximum == 0.0f || (maximum >= 0x1p-50f && maximum <= 0x1p58f);
}
inline bool CanSum(double /*maximum*/) { return true; }

// Elements as they lie in memory.
template <typename In, typename Out>
void Read(const std::byte* from, Group<Arithmetic<In>>& group) {
  if constexpr (kIsSixteenBits<In>) {
    Load(from, group, In{}, Out{});
  } else {
    Load(from, group);
  }
}

// Adds to what was found, unless the sum needs float64.
template <typename T>
bool AddStatistics(T sum_of_squares, T maximum, KernelFindings& findings) {
  if (!CanSum(maximum)) return false;
  findings.sum_of_squares += static_cast<double>(sum_of_squares);
  if (maximum > findings.absolute_maximum) findings.absolute_maximum = maximum;
  return true;
}

// Looks at the floats of a block as they are stored.
template <bool kStatistics, typename T>
class GroupInspection {
 public:
  void Add(const Group<T>& group) {
    for (std::size_t i = 0; i < Group<T>::kPackets; ++i) {
      const Packet<T>& value = group.packets[i];
      if constexpr (kStatistics) {
        sum_.AddSquare(i, value);
        maximum_.Raise(i, Eigen::internal::pabs(value));
      } else {
        // 0 for a finite value, NaN otherwise.
        sum_.Add(i, Eigen::internal::psub(value, value));
      }
    }
  }

  // Whether no second look is needed; if so, what was found is in `findings`.
  bool Conclude(KernelFindings& findings) const {
    const T sum = sum_.sum();
    if (!IsFinite(sum)) return false;
    if constexpr (!kStatistics) return true;
    return AddStatistics(sum, maximum_.maximum(), findings);
  }

 private:
  Accumulator<T> sum_;
  Accumulator<T> maximum_;
};

// The same in 16 bits, where the largest magnitude, as an integer, also says
// whether all are finite.
template <bool kStatistics, typename Out>
class WordsInspection {
 public:
  void Add(const Words<Out>& words) {
    maximum_.Raise(words);
    if constexpr (kStatistics) {
      Group<float> group;
      Widen(words, group);
      for (std::size_t i = 0; i < Group<float>::kPackets; ++i) {
        squares_.AddSquare(i, group.packets[i]);
      }
    }
  }

  bool Conclude(KernelFindings& findings) const {
    const Out maximum = maximum_.maximum();
    if (maximum.bits >= Out::kInfinity) return false;
    if constexpr (!kStatistics) return true;
    return AddStatistics(squares_.sum(),
                         __builtin_bit_cast(float, WidenedBits(maximum)),
                         findings);
  }

 private:
  WordsMaximum<Out> maximum_;
  Accumulator<float> squares_;
};

template <bool kStatistics, typename Out, bool kWords>
struct InspectionOf {
  using Type = GroupInspection<kStatistics, Out>;
};
template <bool kStatistics, typename Out>
struct InspectionOf<kStatistics, Out, true> {
  using Type = WordsInspection<kStatistics, Out>;
};

template <typename Out>
double SumOfFiniteSquaresInDouble(const Block<Out>& block) {
  using T = Arithmetic<Out>;
  constexpr std::size_t kElements = Group<T>::kElements;
  double lanes[kElements] = {};
  for (std::size_t g = 0; g < block.groups; ++g) {
    Group<T> group;
    Read<Out, Out>(block.stored + g * kElements * sizeof(Out), group);
    T values[kElements];
    Store(group, reinterpret_cast<std::byte*>(values));
    for (std::size_t i = 0; i < kElements; ++i) {
      const double value = IsFinite(values[i]) ? values[i] : T{0};
      lanes[i] += value * value;
    }
  }
  double sum = 0.0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

inline bool IsStoredFinite(float value) { return IsFinite(value); }
inline bool IsStoredFinite(double value) { return IsFinite(value); }
template <typename Sixteen>
bool IsStoredFinite(Sixteen value) {
  return (value.bits & 0x7fffu) < Sixteen::kInfinity;
}

// Index in the block of the first element that is not finite; there is one.
template <typename Out>
std::size_t FirstBad(const Block<Out>& block) {
  for (std::size_t i = 0;; ++i) {
    Out value;
    std::memcpy(&value, block.stored + i * sizeof(Out), sizeof(Out));
    if (!IsStoredFinite(value)) return i;
  }
}

// The careful pass over a block that holds a NaN or an infinity, or whose sum
// needs float64.
template <bool kStatistics, typename Out>
[[gnu::noinline]] void LookAgain(const Block<Out>& block,
                                 KernelFindings& findings) {
  using T = Arithmetic<Out>;
  namespace e = Eigen::internal;
  const Packet<T> zero = e::pzero(Packet<T>());
  const Packet<T> one = e::pset1<Packet<T>>(T{1});
  const Packet<T> infinity = e::pset1<Packet<T>>(kInfinity<T>);
  Accumulator<T> nans;
  Accumulator<T> positive;
  Accumulator<T> negative;
  Accumulator<T> squares;
  Accumulator<T> maximum;
  for (std::size_t g = 0; g < block.groups; ++g) {
    Group<T> group;
    Read<Out, Out>(block.stored + g * Group<T>::kElements * sizeof(Out), group);
    for (std::size_t i = 0; i < Group<T>::kPackets; ++i) {
      const Packet<T> value = group.packets[i];
      nans.Add(i, e::pandnot(one, e::pcmp_eq(value, value)));
      positive.Add(i, e::pand(one, e::pcmp_eq(value, infinity)));
      negative.Add(i, e::pand(one, e::pcmp_eq(e::pnegate(value), infinity)));
      if constexpr (kStatistics) {
        const Packet<T> finite =
            e::pand(value, e::pcmp_eq(e::psub(value, value), zero));
        squares.AddSquare(i, finite);
        maximum.Raise(i, e::pabs(finite));
      }
    }
  }
  findings.nan_count += nans.count();
  findings.positive_infinity_count += positive.count();
  findings.negative_infinity_count += negative.count();
  const bool bad = nans.count() + positive.count() + negative.count() > 0;
  if (bad && findings.first_bad == KernelFindings::kNone) {
    findings.first_bad = block.first_index + FirstBad(block);
  }
  if constexpr (kStatistics) {
    if (!AddStatistics(squares.sum(), maximum.maximum(), findings)) {
      AddStatistics(SumOfFiniteSquaresInDouble(block),
                    static_cast<double>(maximum.maximum()), findings);
    }
  }
}

// NaN as documented, where the fast conversions are free to differ.
template <bool kChanges, typename In, typename Out>
[[gnu::noinline]] void MendNaNs(const std::byte* input,
                                const Block<Out>& block) {
  const std::size_t count = block.groups * Group<Arithmetic<Out>>::kElements;
  if constexpr (kChanges && kIsSixteenBits<Out>) {
    for (std::size_t i = 0; i < count; ++i) {
      Out value;
      std::memcpy(&value, block.stored + i * sizeof(Out), sizeof(Out));
      value = WithoutPayload(value);
      std::memcpy(block.stored + i * sizeof(Out), &value, sizeof(Out));
    }
  }
  if constexpr (!kChanges && !kSame<In, Out>) {
    // A processor's own conversion makes signalling NaNs quiet.
    for (std::size_t i = 0; i < count; ++i) {
      In value;
      std::memcpy(&value, input + i * sizeof(In), sizeof(In));
      const std::uint32_t wide = WidenedBits(value);
      std::memcpy(block.stored + i * sizeof(Out), &wide, sizeof(Out));
    }
  }
}

template <bool kStatistics, typename In, typename Out, typename Operation>
void UnscaleBlock(const std::byte* input, const Block<Out>& block,
                  Operation operation, Arithmetic<Out> largest_that_vanishes,
                  KernelFindings& findings) {
  using T = Arithmetic<In>;
  constexpr std::size_t kElements = Group<T>::kElements;
  VanishedCounter<T> vanished(largest_that_vanishes);
  typename InspectionOf<kStatistics, Out, kIsSixteenBits<Out>>::Type inspection;
  // Copies, since what is stored could be anything for all the compiler knows.
  const std::byte* from = input;
  std::byte* to = block.stored;
  const std::byte* const end = from + block.groups * kElements * sizeof(In);
  for (; from != end;
       from += kElements * sizeof(In), to += kElements * sizeof(Out)) {
    if constexpr (!Operation::kChanges && kIsSixteenBits<Out>) {
      // Not narrowed: that would lose the payload of a NaN.
      const Words<Out> words = LoadWords(from, Out{});
      StoreWords(words, to);
      inspection.Add(words);
      continue;
    }
    Group<T> group;
    Read<In, Out>(from, group);
    for (std::size_t i = 0; i < Group<T>::kPackets; ++i) {
      if constexpr (Operation::kChanges) vanished.Add(i, group.packets[i]);
      group.packets[i] = operation.OfPacket(group.packets[i]);
    }
    if constexpr (kIsSixteenBits<Out>) {
      const Words<Out> words = Narrow(group, Out{});
      StoreWords(words, to);
      inspection.Add(words);
    } else {
      Store(group, to);
      inspection.Add(group);
    }
  }
  if constexpr (Operation::kChanges) {
    findings.flushed_to_zero += vanished.count();
  }
  if (inspection.Conclude(findings)) return;
  LookAgain<kStatistics>(block, findings);
  MendNaNs<Operation::kChanges, In>(input, block);
}

template <bool kStatistics, typename In, typename Out, typename Operation>
KernelFindings Run(const KernelCall& call) {
  constexpr std::size_t kElements = Group<Arithmetic<In>>::kElements;
  const Operation operation(call.factor);
  const auto largest_that_vanishes = LargestThatVanishes<Out>(operation);
  const auto* input = static_cast<const std::byte*>(call.input);
  auto* output = static_cast<std::byte*>(call.output);
  KernelFindings findings;
  // Where results are stored that nobody wants.
  alignas(64) std::byte unwanted[kBlockElements<kStatistics> * sizeof(Out)];
  std::size_t begin = 0;
  while (call.count - begin >= kElements) {
    const std::size_t rest = (call.count - begin) / kElements;
    const std::size_t most = kBlockElements<kStatistics> / kElements;
    const std::size_t groups = rest < most ? rest : most;
    const Block<Out> block = {
        output != nullptr ? output + begin * sizeof(Out) : unwanted, groups,
        begin};
    UnscaleBlock<kStatistics, In>(input + begin * sizeof(In), block, operation,
                                  largest_that_vanishes, findings);
    begin += groups * kElements;
  }
  if (const std::size_t rest = call.count - begin; rest > 0) {
    // Zeros in the last places change nothing.
    alignas(64) std::byte last[kElements * sizeof(In)] = {};
    std::memcpy(last, input + begin * sizeof(In), rest * sizeof(In));
    UnscaleBlock<kStatistics, In>(last, Block<Out>{unwanted, 1, begin},
                                  operation, largest_that_vanishes, findings);
    if (output != nullptr) {
      std::memcpy(output + begin * sizeof(Out), unwanted, rest * sizeof(Out));
    }
  }
  return findings;
}

template <typename In, typename Out, typename Operation>
KernelFindings RunWithOrWithoutStatistics(const KernelCall& call) {
  return call.statistics ? Run<true, In, Out, Operation>(call)
                         : Run<false, In, Out, Operation>(call);
}

template <typename In, typename Out>
KernelFindings RunOperation(const KernelCall& call) {
  using T = Arithmetic<In>;
  switch (call.operation) {
    case UnscaleOperation::kKeep:
      return RunWithOrWithoutStatistics<In, Out, Keep<T>>(call);
    case UnscaleOperation::kMultiply:
      return RunWithOrWithoutStatistics<In, Out, Multiply<T>>(call);
    case UnscaleOperation::kDivide:
      return RunWithOrWithoutStatistics<In, Out, Divide<T>>(call);
  }
  return {};
}

KernelFindings RunTypes(const KernelCall& call) {
  const bool widen = call.output_type != call.input_type;
  switch (call.input_type) {
    case ElementType::kFloat32:
      return RunOperation<float, float>(call);
    case ElementType::kFloat16:
      return widen ? RunOperation<Float16, float>(call)
                   : RunOperation<Float16, Float16>(call);
    case ElementType::kBFloat16:
      return widen ? RunOperation<BFloat16, float>(call)
                   : RunOperation<BFloat16, BFloat16>(call);
    case ElementType::kFloat64:
      return RunOperation<double, double>(call);
  }
  return {};
}

}  // namespace
}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_UNSCALE_PASS_H_
