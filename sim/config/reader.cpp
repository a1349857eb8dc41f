#include "sim/config/reader.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <sstream>

namespace moire::config {

namespace {

constexpr std::size_t max_depth = 100;

struct Abort {};  // thrown to leave the parser; the reason is already in the diagnostics

std::size_t height(const Node& node) {
  std::size_t most = 0;
  for (const Node& item : node.items) most = std::max(most, height(item));
  for (const Node::Entry& entry : node.entries) most = std::max(most, height(entry.value));
  return most + 1;
}

class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::shared_ptr<const Source> source, std::size_t& budget, Diagnostics& diagnostics)
      : source_(std::move(source)), budget_(budget), diagnostics_(diagnostics) {}

  Node take() { return std::move(root_); }
  const Place& last_quoted() const { return last_quoted_; }

  Place place(const YAML::Mark& mark) const {
    if (mark.is_null()) return {source_, 0, 0};
    return {source_, mark.line + 1, mark.column + 1};
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ == 0) return;
    abort(place(mark), "a second document starts here",
          "indent all top-level keys alike, and keep one document in a file");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Node node = make(Node::Kind::null, mark);
    // The parser gives the place of the next token, possibly lines below, so the place of the key is used instead.
    if (!frames_.empty() && frames_.back().has_key) node.place = frames_.back().key_place;
    add(std::move(node), anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Node node = make(Node::Kind::scalar, mark);
    reject_tag(tag, node);
    node.quoted = tag == "!";
    node.text = value;
    if (node.quoted) last_quoted_ = node.place;
    add(std::move(node), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto it = anchors_.find(anchor);
    if (it == anchors_.end())
      abort(place(mark), "this alias is used inside the value that it names", "write the value out");
    spend(it->second.count(), place(mark));
    if (frames_.size() + height(it->second) > max_depth) too_deep(place(mark));
    add(it->second, 0);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(make(Node::Kind::sequence, mark), tag, anchor);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(make(Node::Kind::map, mark), tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Frame {
    Node node;
    YAML::anchor_t anchor = 0;
    bool has_key = false;
    std::string key;
    Place key_place;
    std::map<std::string, Place> seen;
  };

  [[noreturn]] void abort(const Place& at, std::string what, std::string remedy) {
    diagnostics_.error(at, std::move(what), std::move(remedy));
    throw Abort();
  }

  [[noreturn]] void too_deep(const Place& at) {
    abort(at, fmt::format("values are nested deeper than {} levels", max_depth), "flatten them");
  }

  void spend(std::size_t nodes, const Place& at) {
    if (nodes > budget_) abort(at, "the configuration has too many values", "large inputs belong in trace files");
    budget_ -= nodes;
  }

  Node make(Node::Kind kind, const YAML::Mark& mark) {
    Node node;
    node.kind = kind;
    node.place = place(mark);
    spend(1, node.place);
    return node;
  }

  void reject_tag(const std::string& tag, Node& node) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    diagnostics_.error(node.place, "tags are not supported: " + in_quotes(tag), "leave the tag out");
    node.broken = true;
  }

  void open(Node node, const std::string& tag, YAML::anchor_t anchor) {
    reject_tag(tag, node);
    if (frames_.size() >= max_depth) too_deep(node.place);
    reject_as_key(node);
    frames_.push_back({});
    frames_.back().node = std::move(node);
    frames_.back().anchor = anchor;
  }

  void close() {
    Frame done = std::move(frames_.back());
    frames_.pop_back();
    add(std::move(done.node), done.anchor);
  }

  void reject_as_key(const Node& node) {
    if (frames_.empty() || !frames_.back().node.is_map() || frames_.back().has_key || node.is_scalar()) return;
    abort(node.place, "a key must be text, not " + found(node), "write 'key: value', and close every bracket");
  }

  void add(Node node, YAML::anchor_t anchor) {
    if (anchor != 0) {
      spend(node.count(), node.place);
      anchors_.insert_or_assign(anchor, node);
    }
    if (frames_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = frames_.back();
    if (frame.node.is_sequence()) {
      frame.node.items.push_back(std::move(node));
    } else if (!frame.has_key) {
      reject_as_key(node);
      frame.key = node.text;
      frame.key_place = node.place;
      frame.has_key = true;
    } else {
      frame.has_key = false;
      add_entry(frame, std::move(node));
    }
  }

  void add_entry(Frame& frame, Node value) {
    const auto [first, is_new] = frame.seen.emplace(frame.key, frame.key_place);
    if (is_new) {
      frame.node.entries.push_back({frame.key, frame.key_place, std::move(value)});
      return;
    }
    diagnostics_.error(frame.key_place, "duplicate key " + in_quotes(frame.key),
                       "first set at " + first->second.str() + ", keep one");
    frame.node.broken = true;
  }

  std::shared_ptr<const Source> source_;
  std::size_t& budget_;
  Diagnostics& diagnostics_;
  Node root_;
  std::vector<Frame> frames_;
  std::map<YAML::anchor_t, Node> anchors_;
  Place last_quoted_;
  int documents_ = 0;
};

// Returns the remedy for an error of the YAML parser. The parser's messages name rules of the grammar of YAML, but a
// remedy says what the user can do.
std::string yaml_remedy(const std::string& message) {
  const auto says = [&message](const char* part) { return message.find(part) != std::string::npos; };
  if (says("illegal map value")) return "put quotes around a text that contains ': ', and check the indentation";
  if (says("illegal tab")) return "indent with spaces";
  if (says("map not found") || says("illegal map key")) return "each line needs 'key: value' and the same indentation";
  if (says("end of sequence not found")) return "each item needs '- ' and the same indentation";
  if (says("flow not found")) return "close the bracket: every { and [ needs its } or ]";
  if (says("illegal EOF in scalar")) return "close the quotes";
  if (says("anchor is not defined")) return "define it with &name before using *name";
  if (says("unknown token")) return "put quotes around a text that starts with @, ` or %";
  return "check quotes, brackets and indentation here";
}

std::string_view from_line(std::string_view text, const Place& place) {
  for (int line = 1; line < place.line; ++line) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text;
}

bool indented_by_tab(std::string_view text, const Place& place) {
  const std::string_view line = from_line(text, place);
  const std::size_t content = line.find_first_not_of(" \t");
  return line.substr(0, std::min(content, line.size())).find('\t') != std::string_view::npos;
}

// True if the quote at `place` is never closed. The YAML parser takes the end of the text for the closing quote, so
// only the last quoted scalar can be affected.
bool is_unclosed(std::string_view text, const Place& place) {
  if (place.line == 0) return false;
  std::string_view rest = from_line(text, place);
  rest.remove_prefix(std::min<std::size_t>(place.col - 1, rest.size()));
  while (rest.starts_with('&') || rest.starts_with('!')) {  // an anchor or tag precedes the quote
    rest.remove_prefix(std::min(rest.find_first_of(" \t\r\n"), rest.size()));
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t\r\n"), rest.size()));
  }
  if (!rest.starts_with('"') && !rest.starts_with('\'')) return false;  // a block scalar
  for (std::size_t i = 1; i < rest.size(); ++i) {
    if (rest[0] == '"' && rest[i] == '\\') {
      ++i;
    } else if (rest[i] == rest[0]) {
      const bool doubled = rest[0] == '\'' && rest.substr(i + 1).starts_with('\'');
      if (!doubled) return false;
      ++i;
    }
  }
  return true;
}

}  // namespace

std::optional<Node> read_yaml(const std::string& text, const std::shared_ptr<const Source>& source, std::size_t& budget,
                              Diagnostics& diagnostics) {
  if (text.find('\0') != std::string::npos) {
    diagnostics.error({source, 1, 1}, "this is not a text file: it contains a zero byte", "save it as UTF-8");
    return std::nullopt;
  }
  if (const std::size_t end = valid_utf8(text);
      end < text.size()) {  // only for --set: files are checked while they are read
    diagnostics.error(place_in(source, text, end), "the text is not valid UTF-8", "save the file as UTF-8");
    return std::nullopt;
  }
  TreeBuilder builder(source, budget, diagnostics);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Abort&) {
    return std::nullopt;
  } catch (const YAML::Exception& e) {
    const Place at = builder.place(e.mark);
    const bool tab = indented_by_tab(text, at);
    diagnostics.error(at, "bad YAML: " + e.msg, tab ? "indent with spaces, not with tabs" : yaml_remedy(e.msg));
    return std::nullopt;
  }
  if (is_unclosed(text, builder.last_quoted())) {
    diagnostics.error(builder.last_quoted(), "this quote is never closed", "close it");
    return std::nullopt;
  }
  Node root = builder.take();
  if (!root.place.source) root.place = {source, 1, 1};
  return root;
}

}  // namespace moire::config
