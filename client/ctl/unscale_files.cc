// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/unscale_files.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "ctl/exit_code.h"
#include "ctl/failure.h"
#include "ctl/npy/available_memory.h"
#include "ctl/npy/elements.h"
#include "ctl/npy/file_error.h"
#include "ctl/npy/input_file.h"
#include "ctl/npy/output_file.h"
#include "ctl/npy/summary.h"
#include "ctl/progress_bar.h"
#include "lossscaler/client/gradient.h"
#include "lossscaler/client/internal/utf8.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/names.h"

namespace lossscaler::ctl {
namespace {

// One input on its way.
struct Task {
  InputFile file;
  ElementType output_type = ElementType::kFloat32;
  Elements input;
  // Null: the result is in the place of the input, or there is none.
  Elements wider;

  std::uint64_t result_bytes() const {
    return file.header().element_count() * ElementSize(output_type);
  }
  bool widens() const { return output_type != file.header().type; }
  std::byte* result() const { return wider ? wider.get() : input.get(); }
};

absl::StatusOr<std::vector<OutputFile>> CreateOutputs(
    const UnscaleRequest& request, UnfinishedFiles* unfinished) {
  std::vector<OutputFile> outputs;
  if (request.output.empty()) return outputs;
  const auto paths = OutputPaths(request.inputs, request.output);
  if (!paths.ok()) return paths.status();
  std::set<std::string> places;
  for (const std::string& path : *paths) {
    absl::StatusOr<OutputFile> output = OutputFile::Create(path, unfinished);
    if (!output.ok()) return output.status();
    if (!places.insert(output->place()).second) {
      return FileError(path, "is a link to the result of another file");
    }
    outputs.push_back(*std::move(output));
  }
  return outputs;
}

absl::StatusOr<std::vector<Task>> OpenInputs(const UnscaleRequest& request) {
  std::vector<Task> tasks;
  for (const std::string& path : request.inputs) {
    absl::StatusOr<InputFile> file = InputFile::Open(path);
    if (!file.ok()) return file.status();
    const ElementType type = file->header().type;
    tasks.push_back({.file = *std::move(file),
                     .output_type = request.keep_type ? type : WideType(type),
                     .input = nullptr,
                     .wider = nullptr});
  }
  return tasks;
}

absl::Status OutOfMemory(std::uint64_t needed, std::uint64_t available,
                         std::size_t files) {
  return MakeError(
      Reason::kInvalidFile,
      absl::StrCat(files, files == 1 ? " file needs " : " files need ", needed,
                   " bytes of memory, and ", available,
                   " are available; files can be unscaled in several calls, "
                   "fewer at a time"),
      {{"files", absl::StrCat(files)},
       {"needed", absl::StrCat(needed)},
       {"available", absl::StrCat(available)}});
}

absl::Status AllocateAll(bool returns_gradients, std::vector<Task>* tasks) {
  const std::uint64_t available = AvailableMemory();
  std::uint64_t needed = 0;
  // Sparse files may claim more than a number holds.
  const auto add = [&needed](std::uint64_t bytes) {
    needed +=
        std::min(bytes, std::numeric_limits<std::uint64_t>::max() - needed);
  };
  for (const Task& task : *tasks) {
    add(task.file.header().data_bytes());
    if (returns_gradients && task.widens()) add(task.result_bytes());
  }
  if (needed > available) return OutOfMemory(needed, available, tasks->size());
  for (Task& task : *tasks) {
    task.input = AllocateElements(task.file.header().data_bytes());
    if (returns_gradients && task.widens()) {
      task.wider = AllocateElements(task.result_bytes());
    }
    if (!task.input || (returns_gradients && task.widens() && !task.wider)) {
      return OutOfMemory(needed, AvailableMemory(), tasks->size());
    }
  }
  return absl::OkStatus();
}

// Null if none is wanted.
std::unique_ptr<ProgressBar> MakeBar(const Environment& environment,
                                     const UnscaleRequest& request) {
  if (!request.progress) return nullptr;
  return std::make_unique<ProgressBar>(environment.err, SteadyNow,
                                       ErrorTerminalWidth);
}

// A tensor is named as its file where the library takes the name; "#" and a
// number is what it calls those without.
std::string TensorName(const std::string& path, std::set<std::string>* taken) {
  const bool usable = path.size() <= kMaxTensorNameBytes &&
                      internal::IsUtf8(path) && !path.starts_with('#') &&
                      taken->insert(path).second;
  return usable ? path : "";
}

std::vector<GradientTensor> TensorsOf(const std::vector<Task>& tasks,
                                      bool returns_gradients) {
  std::vector<GradientTensor> tensors;
  std::set<std::string> taken;
  for (const Task& task : tasks) {
    GradientTensor tensor;
    tensor.name = TensorName(task.file.path(), &taken);
    tensor.type = task.file.header().type;
    tensor.inner_size = task.file.header().element_count();
    tensor.input = task.input.get();
    tensor.output = returns_gradients ? task.result() : nullptr;
    tensor.output_type = task.output_type;
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

absl::Status ReadAll(const Environment& environment,
                     const UnscaleRequest& request,
                     const std::vector<Task>& tasks) {
  std::uint64_t bytes = 0;
  for (const Task& task : tasks) bytes += task.file.header().data_bytes();
  const std::unique_ptr<ProgressBar> bar = MakeBar(environment, request);
  if (bar) bar->Show("reading", tasks.size(), bytes);
  for (const Task& task : tasks) {
    const absl::Status status =
        task.file.Read(0, task.file.header().element_count(), task.input.get());
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<UnscaleAnswer> AskServer(const Environment& environment,
                                        Connection& connection,
                                        const UnscaleRequest& request,
                                        const std::vector<Task>& tasks) {
  const std::vector<GradientTensor> tensors =
      TensorsOf(tasks, !request.output.empty());
  UnscaleCall call;
  call.session.name = request.session;
  call.step = request.step;
  call.tensors = tensors;
  call.skip_statistics = request.skip_statistics;
  const std::unique_ptr<ProgressBar> bar = MakeBar(environment, request);
  if (bar) {
    call.on_progress = [&bar](const UnscaleProgress& progress) {
      bar->Show(progress.bytes_done, progress.bytes_total);
    };
  }
  return connection.Unscale(call);
}

absl::Status WriteAll(const Environment& environment,
                      const UnscaleRequest& request,
                      const std::vector<Task>& tasks,
                      std::vector<OutputFile>* outputs) {
  std::uint64_t bytes = 0;
  for (const Task& task : tasks) bytes += task.result_bytes();
  const std::unique_ptr<ProgressBar> bar = MakeBar(environment, request);
  if (bar) bar->Show("writing", outputs->size(), bytes);
  for (std::size_t i = 0; i < outputs->size(); ++i) {
    const Task& task = tasks[i];
    NpyHeader header = task.file.header();
    header.type = task.output_type;
    header.big_endian = std::endian::native == std::endian::big;
    const absl::Status status = (*outputs)[i].Write(
        NpyPrefix(header),
        std::string_view(reinterpret_cast<const char*>(task.result()),
                         task.result_bytes()));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// Element `index` of the input, before the results take the place of inputs.
// One that was unscaled in place is read again; nullopt if it is gone.
std::optional<std::string> InputText(const Task& task, bool in_place,
                                     std::uint64_t index) {
  const ElementType type = task.file.header().type;
  if (!in_place) {
    return ElementText(type, task.input.get() + index * ElementSize(type));
  }
  std::byte element[sizeof(double)];
  if (!task.file.Read(index, 1, element).ok()) return std::nullopt;
  return ElementText(type, element);
}

UnscaleSummary Summarise(const UnscaleRequest& request,
                         const std::vector<Task>& tasks,
                         const std::vector<OutputFile>& outputs,
                         const UnscaleAnswer& answer) {
  UnscaleSummary summary = {.session = request.session,
                            .step = answer.step,
                            .scale = answer.scale,
                            .statistics = !request.skip_statistics,
                            .files = {}};
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const InputFile& file = tasks[i].file;
    FileSummary found = {.input = file.path(),
                         .output = outputs.empty() ? "" : outputs[i].path(),
                         .header = file.header(),
                         .output_type = tasks[i].output_type,
                         .verdict = answer.tensors[i],
                         .first_bad_value = std::nullopt};
    if (found.verdict.first_bad_index) {
      found.first_bad_value =
          InputText(tasks[i], /*in_place=*/!outputs.empty() && !tasks[i].wider,
                    *found.verdict.first_bad_index);
    }
    summary.files.push_back(std::move(found));
  }
  return summary;
}

// Everything but the last word: its files are gone, or in their places, when it
// returns.
absl::StatusOr<UnscaleSummary> Run(const Environment& environment,
                                   Connection& connection,
                                   const UnscaleRequest& request) {
  absl::StatusOr<std::vector<OutputFile>> outputs =
      CreateOutputs(request, &environment.unfinished_files);
  if (!outputs.ok()) return outputs.status();
  absl::StatusOr<std::vector<Task>> tasks = OpenInputs(request);
  if (!tasks.ok()) return tasks.status();
  absl::Status status = AllocateAll(!outputs->empty(), &*tasks);
  if (!status.ok()) return status;
  status = ReadAll(environment, request, *tasks);
  if (!status.ok()) return status;
  const absl::StatusOr<UnscaleAnswer> answer =
      AskServer(environment, connection, request, *tasks);
  if (!answer.ok()) return answer.status();
  if (answer->tensors.size() != tasks->size()) {
    return absl::InternalError("the answer is about other tensors");
  }
  UnscaleSummary summary = Summarise(request, *tasks, *outputs, *answer);
  if (outputs->empty()) return summary;
  status = WriteAll(environment, request, *tasks, &*outputs);
  if (status.ok()) {
    status = OutputFile::MoveIntoPlace(*outputs, &environment.unfinished_files);
  }
  if (!status.ok()) return status;
  return summary;
}

}  // namespace

int UnscaleFiles(const Environment& environment, Connection& connection,
                 const UnscaleRequest& request, Format format) {
  const absl::StatusOr<UnscaleSummary> summary =
      Run(environment, connection, request);
  if (!summary.ok()) return Fail(environment, format, summary.status());
  environment.out << (format == Format::kJson ? SummaryJson(*summary) + "\n"
                                              : SummaryText(*summary));
  return request.fail_on_overflow && summary->overflow() ? kOverflowFound
                                                         : kDone;
}

}  // namespace lossscaler::ctl
