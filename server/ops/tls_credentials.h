// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// TlsCredentials: TLS for the ports of a gRPC server, with whatever TlsFiles
// has in force when a client connects. Connections that are open stay as they
// are.
//
// TLS 1.2 and 1.3, the ciphers of gRPC.
//
// Thread safety: as grpc::ServerCredentials.

#ifndef LOSSSCALER_SERVER_OPS_TLS_CREDENTIALS_H_
#define LOSSSCALER_SERVER_OPS_TLS_CREDENTIALS_H_

#include <memory>

#include "grpcpp/security/server_credentials.h"
#include "ops/tls_files.h"

namespace lossscaler::server {

// For any number of ports of one server. The credentials, and `files`, must
// outlive that server: gRPC asks them whenever a client connects.
std::shared_ptr<grpc::ServerCredentials> MakeTlsCredentials(
    const TlsFiles* files);

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_TLS_CREDENTIALS_H_
