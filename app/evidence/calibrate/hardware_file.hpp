// A hardware file that calibration changes. The class reads and changes values by path, and writes the file in the
// layout of configs/hardware.
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
  // Return nothing and report errors if the file or the text is not a valid GPU.
  static std::optional<HardwareFile> load(const std::string& file, config::Diagnostics& diagnostics);
  static std::optional<HardwareFile> load_text(const std::string& name, const std::string& text,
                                               config::Diagnostics& diagnostics);

  // Paths are as in `moire explain gpu`: "hbm.bandwidth". Numbers are in base units (ps, B, B/s, ...).
  static const config::Field* field(std::string_view path);  // returns nullptr if the spec has no such number
  bool has_section_of(std::string_view path) const;
  std::optional<double> number(std::string_view path) const;
  std::string text(std::string_view path) const;  // returns the value as written, or "" if the file lacks it
  void set(std::string_view path, double value);  // keeps the source; writes full precision
  // Copies the entry at `path` from `other`, with value and source. Removes the entry if `other` has none.
  void take_over(std::string_view path, const HardwareFile& other);
  // Sets the final value, rounded to `digits` significant digits (0: all). `source` is the key of its source, and
  // `residual` is the rms of the relative errors of the fit.
  void state(std::string_view path, double value, int digits, const std::string& source,
             std::optional<double> residual);
  // Sets the groups of CUs in hardware order: {CUs, CUs that fill first}. Equal neighbours become one entry with a
  // count. Removes the ports, because they refer to the former groups.
  void state_groups(const std::vector<std::pair<int, int>>& groups, const std::string& source);
  void state_ports(const std::vector<std::int64_t>& ports, double queue, const std::string& source);

  std::string name() const;
  void rename(const std::string& name, const std::string& comment);  // `comment` becomes the file's first line

  // Removes the sources of a value that is about to be set again, so that they do not count as used.
  void release(std::string_view path);
  // Adds a source and returns its key. The key is `wanted`. If some value already uses this key and its text differs
  // from `text`, the key is `wanted_2`, `wanted_3` and so on.
  std::string add_source(const std::string& wanted, const std::string& text);
  void set_source_text(const std::string& key, const std::string& text);

  // Returns the GPU with the current values. Returns nothing and reports errors if the values break a rule of the
  // specs.
  std::optional<libraries::EquippedGpu> spec(config::Diagnostics& diagnostics) const;

  config::Place place(std::string_view path) const;

  // Returns the text of the file, without sources that no value names.
  std::string yaml() const;

 private:
  // Returns the file with the tree `root`. `written` is the same tree, but has the names of included files where `root`
  // has their contents.
  static std::optional<HardwareFile> from(std::optional<config::Node> root, const std::optional<config::Node>& written,
                                          config::Diagnostics& diagnostics);

  config::Node root_;
  std::map<std::string, config::Node> parts_;  // contents of included files, by key; never changed
  std::map<std::string, std::vector<std::string>, std::less<>> comments_;  // comments above keys, by path
};

}  // namespace moire::calibrate
