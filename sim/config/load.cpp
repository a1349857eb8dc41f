#include "sim/config/load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "sim/config/file.hpp"
#include "sim/config/reader.hpp"
#include "sim/config/suggest.hpp"
#include "sim/core/log.hpp"

namespace moire::config {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t max_include_depth = 20;

bool names_a_file(const Node& node) {
  return node.is_scalar() && !node.quoted && !node.broken && node.text.size() > 5 && node.text.ends_with(".yaml");
}

std::vector<std::string> yaml_files(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder.empty() ? "." : folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".yaml") names.push_back(it->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::map<std::string, std::string, std::less<>> references_of(const Node& root) {
  std::map<std::string, std::string, std::less<>> references;
  const Node* sources = root.find("sources");
  if (!sources) return references;
  for (const Node::Entry& entry : sources->entries) {
    if (entry.value.is_scalar()) references.emplace(entry.key, entry.value.text);
  }
  return references;
}

class Loader {
 public:
  Loader(Diagnostics& diagnostics, const LoadOptions& options)
      : diagnostics_(diagnostics), options_(options), budget_(options.nodes) {}

  // Reads a file and the files that it includes. `asked` is the place of the include that names the file; it is empty
  // for the first file.
  std::optional<Node> file(const fs::path& path, const Place& asked) {
    const fs::path shown = path.lexically_normal();
    std::error_code error;
    const fs::path identity = fs::weakly_canonical(path, error);
    if (!may_enter(shown, identity, asked)) return std::nullopt;
    auto content = contents(shown, asked);
    if (!content) return std::nullopt;
    open_.push_back(identity);
    auto root = text(shown.string(), shown.parent_path(), *content);
    open_.pop_back();
    return root;
  }

  std::optional<Node> text(const std::string& name, const fs::path& folder, const std::string& content) {
    const auto source = std::make_shared<Source>(Source{name, folder, true, {}});
    auto root = read_yaml(content, source, budget_, diagnostics_);
    if (!root) return std::nullopt;
    if (root->is_null()) {
      diagnostics_.error(root->place, "the file is empty", "write at least one key");
      return std::nullopt;
    }
    source->references = references_of(*root);
    follow_includes(*root);
    root->top = true;
    return root;
  }

  std::optional<Node> set_value(const std::shared_ptr<const Source>& source, const std::string& content) {
    auto root = read_yaml(content, source, budget_, diagnostics_);
    if (root) follow_includes(*root);
    return root;
  }

 private:
  void follow_includes(Node& node) {
    if (!options_.includes) return;
    if (names_a_file(node)) {
      if (core::logs(core::LogLevel::debug))
        core::log_debug("{} includes {}", node.place.str(),
                        (node.place.source->folder / node.text).lexically_normal().string());
      auto included = file(node.place.source->folder / node.text, node.place);
      if (included) {
        node = std::move(*included);
      } else {
        node.kind = Node::Kind::null;
        node.broken = true;
      }
      return;
    }
    for (Node& item : node.items) follow_includes(item);
    for (Node::Entry& entry : node.entries) follow_includes(entry.value);
  }

  bool may_enter(const fs::path& shown, const fs::path& identity, const Place& asked) {
    const auto first = std::find(open_.begin(), open_.end(), identity);
    if (first != open_.end()) {
      std::vector<std::string> chain;
      for (auto it = first; it != open_.end(); ++it) chain.push_back(it->filename().string());
      chain.push_back(identity.filename().string());
      diagnostics_.error(asked, in_quotes(shown.string()) + " includes itself: " + join(chain, " -> "),
                         "remove one of these includes");
      return false;
    }
    if (open_.size() < max_include_depth) return true;
    diagnostics_.error(asked, fmt::format("includes are nested deeper than {} files", max_include_depth),
                       "flatten them");
    return false;
  }

  std::optional<std::string> contents(const fs::path& path, const Place& asked) {
    FileAsked file{.file = path, .place = asked, .when_large = "large inputs belong in trace files"};
    if (std::error_code error; !fs::exists(path, error)) {
      file.remedy = suggestion(path.filename().string(), yaml_files(path.parent_path()), "files in its folder");
      if (file.remedy.empty()) file.remedy = "its folder has no .yaml file";
    }
    return read_plain(file, options_.bytes, diagnostics_);
  }

  Diagnostics& diagnostics_;
  const LoadOptions& options_;
  std::size_t budget_;
  std::vector<fs::path> open_;  // chain of includes that are being read
};

std::optional<Node> with_overrides(std::optional<Node> root, const std::vector<Override>& overrides,
                                   Diagnostics& diagnostics) {
  if (!root) return root;
  for (const Override& change : overrides) {
    if (!apply(change, *root, diagnostics)) root->broken = true;
  }
  return root;
}

// Returns the index of the first '=' outside of quotes, because a quoted key may contain '='.
std::size_t find_equals(std::string_view text) {
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quote != 0) {
      if (text[i] == quote) quote = 0;
    } else if (text[i] == '"' || text[i] == '\'') {
      quote = text[i];
    } else if (text[i] == '=') {
      return i;
    }
  }
  return std::string_view::npos;
}

}  // namespace

std::optional<Node> load(const fs::path& file, const std::vector<Override>& overrides, Diagnostics& diagnostics,
                         const LoadOptions& options) {
  return with_overrides(Loader(diagnostics, options).file(file, Place{}), overrides, diagnostics);
}

std::optional<Node> load_text(const std::string& name, const std::string& text, const std::vector<Override>& overrides,
                              Diagnostics& diagnostics, const LoadOptions& options) {
  Loader loader(diagnostics, options);
  return with_overrides(loader.text(name, fs::path(name).parent_path(), text), overrides, diagnostics);
}

std::optional<Override> parse_set(const std::string& path_equals_value, Diagnostics& diagnostics,
                                  const LoadOptions& options) {
  const auto source = std::make_shared<const Source>(Source{"--set " + path_equals_value, {}, false, {}});
  const Place place{source, 0, 0};
  const std::size_t equals = find_equals(path_equals_value);
  if (equals == std::string::npos) {
    diagnostics.error(place, "the '=' is missing", "write --set path=value");
    return std::nullopt;
  }
  auto path = parse_path(std::string_view(path_equals_value).substr(0, equals), place, diagnostics);
  auto value = Loader(diagnostics, options).set_value(source, path_equals_value.substr(equals + 1));
  if (!path || !value || value->broken) return std::nullopt;
  return Override{std::move(*path), source->name, place, std::move(*value)};
}

std::vector<Override> parse_sets(const std::vector<std::string>& sets, Diagnostics& diagnostics,
                                 const LoadOptions& options) {
  std::vector<Override> overrides;
  for (const std::string& set : sets) {
    if (auto change = parse_set(set, diagnostics, options)) overrides.push_back(std::move(*change));
  }
  return overrides;
}

}  // namespace moire::config
