// The parts of a machine, one entry each in parts.cpp. Besides the composition in spec.hpp, this is the only place that
// names them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/hardware/machine/spec.hpp"
#include "models/hardware/part/part.hpp"

namespace moire::machine {

struct RegisteredPart {
  const part::Declaration& (*declaration)();
  // Returns null and sets `error` if something does not fit.
  std::unique_ptr<part::Part> (*make)(const SystemSpec& spec, part::Site& site, config::Problem& error);
  // Could queues of this program lose time by sharing this kind on this system?
  bool (*shares)(const part::BlameKind& kind, const SystemSpec& spec, const program::Program& program);
  // May be null. Reports why the program cannot run on the part at all.
  std::optional<config::Problem> (*refuses)(const program::Program& program, const SystemSpec& spec);
  // May be null. Which parameters of the part are limited by others of the system.
  std::vector<part::Limit> (*limits)(const SystemSpec& spec, const program::Program& program) = nullptr;
};

// In the order of their metrics and of the kinds of blame: kinds that come first are separated first.
const std::vector<RegisteredPart>& parts();

// Timeline sections of all parts, from the compute units outwards.
std::vector<part::TimelineSection> timeline_sections();

// The problem of the first part that refuses the program.
std::optional<config::Problem> does_not_fit(const program::Program& program, const SystemSpec& spec);

// The limits of all parts.
std::vector<part::Limit> limits(const SystemSpec& spec, const program::Program& program);

// Links of a GPU's port that lead to another GPU of the node.
std::int64_t links_in_use(const NodeSpec& node);

// If a counterfactual run cannot give queues networks of their own, the time that remains unexplained between all kinds
// separated and each queue alone is attributed to this kind.
std::optional<std::string_view> kind_that_stays_shared(const SystemSpec& spec);

}  // namespace moire::machine
