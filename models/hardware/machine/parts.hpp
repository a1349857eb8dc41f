// The list of the parts of a machine. parts.cpp has one entry for each part. Only parts.cpp and spec.hpp, which
// composes the parameters of the parts, name the parts.
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
  // Returns null and sets `error` if the part cannot be made from this system.
  std::unique_ptr<part::Part> (*make)(const SystemSpec& spec, part::Site& site, config::Problem& error);
  // True if queues of this program could lose time by sharing this kind of resource on this system.
  bool (*shares)(const part::BlameKind& kind, const SystemSpec& spec, const program::Program& program);
  // May be null. Returns an error message if the program cannot run on the part at all.
  std::optional<config::Problem> (*refuses)(const program::Program& program, const SystemSpec& spec);
  // May be null. Returns the parameters of the part that other parameters of the system limit.
  std::vector<part::Limit> (*limits)(const SystemSpec& spec, const program::Program& program) = nullptr;
};

// Metrics are printed in the order of the parts, and blame separates the kinds of sharing in this order.
const std::vector<RegisteredPart>& parts();

// Returns the timeline sections of all parts, in the reverse order of parts(): CUs, DMA engines, puts.
std::vector<part::TimelineSection> timeline_sections();

// Returns the error message of the first part that refuses the program, or nothing if the program can run.
std::optional<config::Problem> does_not_fit(const program::Program& program, const SystemSpec& spec);

// Returns the limits of all parts.
std::vector<part::Limit> limits(const SystemSpec& spec, const program::Program& program);

// Returns how many links of a GPU's port lead to another GPU of the node.
std::int64_t links_in_use(const NodeSpec& node);

// Returns the kind of sharing (BlameKind::key) that a counterfactual run of this system cannot separate completely, if
// there is one. Blame charges to this kind the time that queues still lose after all kinds have been separated.
std::optional<std::string_view> kind_that_stays_shared(const SystemSpec& spec);

}  // namespace moire::machine
