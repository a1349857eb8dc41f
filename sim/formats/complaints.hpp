// Collects problems of one text with their places: the first errors in full, then the number of further ones; one
// warning per kind. Each is a config::Diagnostic: place, what is wrong, what would be right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "sim/config/diagnostics.hpp"
#include "sim/formats/source_text.hpp"

namespace moire::formats {

class Complaints {
 public:
  static constexpr std::size_t told = 20;
  // What a reader does after `told` errors: continue and count the others, or stop reading.
  enum class Beyond { counted, unread };

  // `name` is the text's name in messages; if it is empty or omitted, only errors with a config::Place have a place.
  explicit Complaints(config::Diagnostics& diagnostics) : diagnostics_(diagnostics) {}
  Complaints(const std::string& name, config::Diagnostics& diagnostics, Beyond beyond = Beyond::counted);
  ~Complaints();
  Complaints(const Complaints&) = delete;
  Complaints& operator=(const Complaints&) = delete;

  void error(const config::Place& place, std::string what, std::string remedy);
  void error(Position at, std::string what, std::string remedy);
  // The same for a text that is read line by line.
  void error(std::int64_t line, std::size_t col, std::string what, std::string remedy);
  // An error after which the rest of the text is meaningless.
  void fatal(std::int64_t line, std::size_t col, std::string what, std::string remedy);
  // Reports the first warning of a kind in full, with the number of others of that kind.
  void warning(const std::string& kind, Position at, std::string what, std::string remedy);

  bool ok() const { return errors_ == 0; }
  std::size_t errors() const { return errors_; }
  bool stopped() const { return stopped_; }  // no further errors are reported
  config::Place place(Position at) const;
  const std::shared_ptr<const config::Source>& source() const { return source_; }

 private:
  struct Warning {
    Position at;
    std::string what;
    std::string remedy;
    std::size_t others = 0;
  };

  config::Diagnostics& diagnostics_;
  std::shared_ptr<const config::Source> source_;
  Beyond beyond_ = Beyond::counted;
  std::size_t errors_ = 0;
  bool stopped_ = false;
  std::map<std::string, Warning> warnings_;
};

}  // namespace moire::formats
