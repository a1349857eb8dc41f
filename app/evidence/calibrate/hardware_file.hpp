// A hardware file that calibration changes: values by path, written again in the layout of configs/hardware.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/workload/libraries/software.hpp"
#include "sim/config/config.hpp"

namespace moire::calibrate {

class HardwareFile {
 public:
  // Nothing, with the reasons in `diagnostics`, where the file is no right GPU.
  static std::optional<HardwareFile> load(const std::string& file, config::Diagnostics& diagnostics);
  static std::optional<HardwareFile> load_text(const std::string& name, const std::string& text,
                                               config::Diagnostics& diagnostics);

  // Paths are those of `moire explain gpu.`: "hbm.bandwidth". Numbers are in base units (ps, B, B/s, ...).
  static const config::Field* field(std::string_view path);  // nullptr where there is no such number
  bool has_section_of(std::string_view path) const;
  std::optional<double> number(std::string_view path) const;
  std::string text(std::string_view path) const;  // as written, "" where the file does not state it
  void set(std::string_view path, double value);  // keeps its source; at full precision
  // As `other` has it: value, source and all, or not at all.
  void take_over(std::string_view path, const HardwareFile& other);
  // The final form: `digits` significant ones, where it comes from and how well it fits.
  void state(std::string_view path, double value, int digits, const std::string& source,
             std::optional<double> residual);
  // Groups of CUs in hardware order: {CUs, filled first}; equal neighbours become one entry with a count.
  // Ports of other groups go.
  void state_groups(const std::vector<std::pair<int, int>>& groups, const std::string& source);
  void state_ports(const std::vector<std::int64_t>& ports, double queue, const std::string& source);

  std::string name() const;
  void rename(const std::string& name, const std::string& comment);  // the comment stands at the top

  // Its sources count as named no more: the value is about to be stated anew.
  void release(std::string_view path);
  // Adds a source and returns the key to state; `wanted` where values that stay do not name another text so.
  std::string add_source(const std::string& wanted, const std::string& text);
  void set_source_text(const std::string& key, const std::string& text);

  // The GPU as it stands. Empty, with reasons, where the values break a rule of the specs.
  std::optional<libraries::EquippedGpu> spec(config::Diagnostics& diagnostics) const;

  config::Place place(std::string_view path) const;

  // Sources that nothing names any more are left out.
  std::string yaml() const;

 private:
  // `written`: the same with the names of files where `root` has what is in them.
  static std::optional<HardwareFile> from(std::optional<config::Node> root, const std::optional<config::Node>& written,
                                          config::Diagnostics& diagnostics);

  config::Node root_;
  std::map<std::string, config::Node> parts_;  // files that it names: they are not changed and stay named
  std::map<std::string, std::vector<std::string>, std::less<>> comments_;  // above a key of the file, by its path
};

}  // namespace moire::calibrate
