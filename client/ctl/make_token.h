// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Makes tokens for the token file of a server.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CTL_MAKE_TOKEN_H_
#define LOSSSCALER_CTL_MAKE_TOKEN_H_

#include <array>
#include <string>
#include <string_view>

#include "ctl/environment.h"

namespace lossscaler::ctl {

// Each may do what those before it may.
inline constexpr std::array<std::string_view, 3> kTokenRoles = {
    "viewer", "worker", "admin"};

struct TokenRequest {
  // What logs call whoever shows it.
  std::string name;
  // One of kTokenRoles.
  std::string role;
  // What names of its sessions start with; empty: all sessions.
  std::string sessions;
};

// Writes a token of 32 random bytes, in the alphabet of base64url, and the
// [[token]] that lets a server know it, which holds its SHA-256.
int MakeToken(const Environment& environment, const TokenRequest& request,
              Format format);

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_MAKE_TOKEN_H_
