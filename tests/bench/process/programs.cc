// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/process/programs.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

namespace lossscaler::bench {
namespace {

std::unique_ptr<testing::ServerProcess> Start(
    const std::string& directory, std::vector<std::string> command) {
  // The kernel kills it when this process goes, however that happens.
  command.insert(command.begin(), {"--pdeathsig", "KILL", "--"});
  return std::make_unique<testing::ServerProcess>("/usr/bin/setpriv", directory,
                                                  std::move(command));
}

absl::Status NotReady(const std::string& program,
                      const testing::ServerProcess& process) {
  return absl::UnavailableError(
      absl::StrCat(program, " does not serve: ", process.Err(), process.Out()));
}

bool Accepts(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool accepts = connect(fd, reinterpret_cast<const sockaddr*>(&address),
                               sizeof(address)) == 0;
  close(fd);
  return accepts;
}

}  // namespace

std::string Beside(std::string_view program) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() /
         program;
}

std::optional<std::string> OnPath(std::string_view program) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = absl::StrCat(folder, "/", std::string(program));
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  return std::nullopt;
}

absl::StatusOr<Server> StartServer(const std::string& directory,
                                   std::vector<std::string> command,
                                   const std::string& ready_file) {
  const std::string program = command.front();
  Server server{.process = Start(directory, std::move(command)),
                .addresses = {}};
  server.addresses = server.process->WaitUntilReady(ready_file);
  if (server.addresses.empty()) return NotReady(program, *server.process);
  return server;
}

absl::StatusOr<Server> StartUnixServer(const std::string& directory,
                                       std::vector<std::string> command,
                                       const std::string& socket) {
  const std::string program = command.front();
  Server server{.process = Start(directory, std::move(command)),
                .addresses = {socket}};
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!Accepts(socket)) {
    if (std::chrono::steady_clock::now() > deadline) {
      return NotReady(program, *server.process);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return server;
}

}  // namespace lossscaler::bench
