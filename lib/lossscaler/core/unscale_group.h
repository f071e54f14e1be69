// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Group: 64 bytes of float32 or float64 in registers, the step of the unscale
// kernels; and Accumulator: a sum over groups. Independent of how wide a
// register is.
//
// Included by kernels alone, after Eigen: see unscale_kernel.h.

#ifndef LOSSSCALER_CORE_UNSCALE_GROUP_H_
#define LOSSSCALER_CORE_UNSCALE_GROUP_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lossscaler {
namespace {  // NOLINT(google-build-namespaces)

template <typename T>
using Packet = typename Eigen::internal::packet_traits<T>::type;

template <typename T>
inline constexpr std::size_t kPacketElements =
    Eigen::internal::unpacket_traits<Packet<T>>::size;

template <typename T>
struct Group {
  static constexpr std::size_t kElements = 64 / sizeof(T);
  static constexpr std::size_t kPackets = kElements / kPacketElements<T>;

  Packet<T> packets[kPackets];
};

// Memory of gradients need not be aligned.
template <typename T>
Packet<T> LoadPacket(const std::byte* from) {
  if constexpr (kPacketElements<T> == 1) {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return value;
  } else {
    return Eigen::internal::ploadu<Packet<T>>(reinterpret_cast<const T*>(from));
  }
}

template <typename T>
void StorePacket(const Packet<T>& packet, std::byte* to) {
  if constexpr (kPacketElements<T> == 1) {
    std::memcpy(to, &packet, sizeof(T));
  } else {
    Eigen::internal::pstoreu(reinterpret_cast<T*>(to), packet);
  }
}

template <typename T>
void Load(const std::byte* from, Group<T>& group) {
  for (std::size_t i = 0; i < Group<T>::kPackets; ++i) {
    group.packets[i] = LoadPacket<T>(from + i * sizeof(Packet<T>));
  }
}

template <typename T>
void Store(const Group<T>& group, std::byte* to) {
  for (std::size_t i = 0; i < Group<T>::kPackets; ++i) {
    StorePacket<T>(group.packets[i], to + i * sizeof(Packet<T>));
  }
}

// A sum of packets: two of them, so that an addition need not wait for the one
// before.
template <typename T>
struct Accumulator {
  Packet<T> lanes[2] = {Eigen::internal::pzero(Packet<T>()),
                        Eigen::internal::pzero(Packet<T>())};

  void Add(std::size_t i, const Packet<T>& value) {
    lanes[i % 2] = Eigen::internal::padd(lanes[i % 2], value);
  }
  void AddSquare(std::size_t i, const Packet<T>& value) {
    lanes[i % 2] = Eigen::internal::pmadd(value, value, lanes[i % 2]);
  }
  void Raise(std::size_t i, const Packet<T>& value) {
    lanes[i % 2] = Eigen::internal::pmax(lanes[i % 2], value);
  }
  T sum() const {
    return Eigen::internal::predux(Eigen::internal::padd(lanes[0], lanes[1]));
  }
  T maximum() const {
    return Eigen::internal::predux_max(
        Eigen::internal::pmax(lanes[0], lanes[1]));
  }
  std::uint64_t count() const { return static_cast<std::uint64_t>(sum()); }
};

}  // namespace
}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_UNSCALE_GROUP_H_
