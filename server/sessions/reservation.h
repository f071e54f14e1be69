// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Reservation: a part of a budget that comes back by itself.
//
// It is shared by everything whose memory it pays for, and returned when the
// last of them has gone, also after the budget's owner has.
//
// Thread safety: as std::shared_ptr.

#ifndef LOSSSCALER_SERVER_SESSIONS_RESERVATION_H_
#define LOSSSCALER_SERVER_SESSIONS_RESERVATION_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "sessions/byte_budget.h"

namespace lossscaler::server {

class Reservation {
 public:
  // Null: the budget does not have so much.
  static std::shared_ptr<const Reservation> Take(
      std::shared_ptr<ByteBudget> budget, std::int64_t bytes) {
    if (!budget->TryTake(bytes)) return nullptr;
    return std::shared_ptr<const Reservation>(
        new Reservation(std::move(budget), bytes));
  }
  ~Reservation() { budget_->Return(bytes_); }

  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

 private:
  Reservation(std::shared_ptr<ByteBudget> budget, std::int64_t bytes)
      : budget_(std::move(budget)), bytes_(bytes) {}

  const std::shared_ptr<ByteBudget> budget_;
  const std::int64_t bytes_;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_SESSIONS_RESERVATION_H_
