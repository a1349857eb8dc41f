// Collects the errors and warnings of one text. The first errors are reported in full. Of further errors only the
// number is reported, or the reader stops (enum Beyond). The first warning of each kind is reported, with the number of
// further warnings of this kind. Each report is a config::Diagnostic: place, what is wrong, what would be right.
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
  // The behaviour of a reader after `told` errors. counted: it continues and counts further errors. unread: it stops.
  enum class Beyond { counted, unread };

  // `name` is the text's name in messages. If the name is empty or omitted, only errors with a config::Place have a
  // place.
  explicit Complaints(config::Diagnostics& diagnostics) : diagnostics_(diagnostics) {}
  Complaints(const std::string& name, config::Diagnostics& diagnostics, Beyond beyond = Beyond::counted);
  ~Complaints();
  Complaints(const Complaints&) = delete;
  Complaints& operator=(const Complaints&) = delete;

  void error(const config::Place& place, std::string what, std::string remedy);
  void error(Position at, std::string what, std::string remedy);
  // Reports an error of a text that is read line by line.
  void error(std::int64_t line, std::size_t col, std::string what, std::string remedy);
  // Reports an error after which the rest of the text is meaningless, so that no further errors are reported.
  void fatal(std::int64_t line, std::size_t col, std::string what, std::string remedy);
  // Reports the first warning of a kind in full, and the number of further warnings of this kind.
  void warning(const std::string& kind, Position at, std::string what, std::string remedy);

  bool ok() const { return errors_ == 0; }
  std::size_t errors() const { return errors_; }
  bool stopped() const { return stopped_; }  // true if no further errors are reported
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
