// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The group of a session on disk. Internal to record_codec.h.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_SERVER_STORE_GROUP_RECORD_H_
#define LOSSSCALER_SERVER_STORE_GROUP_RECORD_H_

#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lossscaler/core/group.h"
#include "store/session_record.pb.h"

namespace lossscaler::server {

// DATA_LOSS: "this is no record of a session: it has no name".
absl::Status NoRecord(std::string_view kind, std::string_view what);

void FillGroupRecord(const GroupState& group,
                     lossscaler::store::GroupRecord* record);

// DATA_LOSS for a configuration, state or checkpoint that is not valid.
absl::StatusOr<GroupState> GroupFromRecord(
    const lossscaler::store::GroupRecord& record);

// DATA_LOSS for what no group can be: members out of the order of their
// incarnations, or not all active while no step is open.
absl::Status CheckGroup(const GroupState& group);

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_STORE_GROUP_RECORD_H_
