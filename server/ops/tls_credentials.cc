// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/tls_credentials.h"

#include <list>
#include <memory>
#include <string>
#include <utility>

#include "grpc/grpc.h"
#include "grpc/grpc_security.h"

namespace lossscaler::server {
namespace {

// What one port shows its clients. gRPC calls it for one client at a time.
class TlsPort {
 public:
  explicit TlsPort(const TlsFiles* files) : files_(files) {}

  grpc_ssl_certificate_config_reload_status Fetch(
      grpc_ssl_server_certificate_config** config) {
    std::shared_ptr<const TlsIdentity> identity = files_->Get();
    if (identity == shown_) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    const grpc_ssl_pem_key_cert_pair pair{identity->key.c_str(),
                                          identity->chain.c_str()};
    // gRPC aborts without authorities, although it asks nobody for a
    // certificate then; the server's own do for that.
    const std::string& authorities =
        identity->client_ca.empty() ? identity->chain : identity->client_ca;
    *config = grpc_ssl_server_certificate_config_create(authorities.c_str(),
                                                        &pair, 1);
    shown_ = std::move(identity);
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

 private:
  const TlsFiles* const files_;
  std::shared_ptr<const TlsIdentity> shown_;
};

// gRPC's own class reads certificates once; that they may change is only in
// its C interface.
class TlsCredentials final : public grpc::ServerCredentials {
 public:
  explicit TlsCredentials(const TlsFiles* files) : files_(files) {}

  // Tokens are looked at where calls are handled.
  void SetAuthMetadataProcessor(
      const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}

 private:
  int AddPortToServer(const std::string& address,
                      grpc_server* server) override {
    const auto fetch = [](void* port,
                          grpc_ssl_server_certificate_config** config) {
      return static_cast<TlsPort*>(port)->Fetch(config);
    };
    // Each port is told of new certificates for itself.
    TlsPort* const port = &ports_.emplace_back(files_);
    grpc_server_credentials* const credentials =
        grpc_ssl_server_credentials_create_with_options(
            grpc_ssl_server_credentials_create_options_using_config_fetcher(
                files_->wants_client_certificates()
                    ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                    : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE,
                fetch, port));
    const int bound =
        grpc_server_add_http2_port(server, address.c_str(), credentials);
    grpc_server_credentials_release(credentials);
    return bound;
  }

  const TlsFiles* const files_;
  // A list: gRPC keeps pointers into it.
  std::list<TlsPort> ports_;
};

}  // namespace

std::shared_ptr<grpc::ServerCredentials> MakeTlsCredentials(
    const TlsFiles* files) {
  return std::make_shared<TlsCredentials>(files);
}

}  // namespace lossscaler::server
