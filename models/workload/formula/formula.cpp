#include "models/workload/formula/formula.hpp"

#include <fmt/format.h>
#include <muParser.h>

#include <algorithm>
#include <cmath>

#include "sim/config/suggest.hpp"

namespace moire::formula {

namespace {

constexpr std::size_t longest = 1000;  // largest length of a formula in characters

double quotient(double a, double b) { return std::floor(a / b); }
double remainder(double a, double b) { return a - b * std::floor(a / b); }
double rounded_up(double a, double b) { return std::ceil(a / b); }
double least(const double* values, int count) { return *std::min_element(values, values + count); }
double most(const double* values, int count) { return *std::max_element(values, values + count); }
double down(double a) { return std::floor(a); }
double up(double a) { return std::ceil(a); }
double size(double a) { return std::abs(a); }

template <std::int64_t factor>
double times(double value) {
  return value * static_cast<double>(factor);
}

// Returns a parser of formulas. It has only functions whose results are the same bits on every machine: no logarithms,
// no powers.
std::shared_ptr<mu::Parser> make_parser() {
  auto parser = std::make_shared<mu::Parser>();
  parser->ClearFun();
  parser->ClearConst();
  parser->ClearPostfixOprt();
  parser->DefineFun("div", quotient);
  parser->DefineFun("mod", remainder);
  parser->DefineFun("ceil_div", rounded_up);
  parser->DefineFun("min", least);
  parser->DefineFun("max", most);
  parser->DefineFun("floor", down);
  parser->DefineFun("ceil", up);
  parser->DefineFun("abs", size);
  parser->DefinePostfixOprt("B", times<1>);
  parser->DefinePostfixOprt("kB", times<1'000>);
  parser->DefinePostfixOprt("MB", times<1'000'000>);
  parser->DefinePostfixOprt("GB", times<1'000'000'000>);
  parser->DefinePostfixOprt("KiB", times<std::int64_t{1} << 10>);
  parser->DefinePostfixOprt("MiB", times<std::int64_t{1} << 20>);
  parser->DefinePostfixOprt("GiB", times<std::int64_t{1} << 30>);
  return parser;
}

const std::vector<std::string>& functions() {
  static const std::vector<std::string> names = {"div", "mod", "ceil_div", "min", "max", "floor", "ceil", "abs"};
  return names;
}
const std::vector<std::string>& units() {
  static const std::vector<std::string> names = {"B", "kB", "MB", "GB", "KiB", "MiB", "GiB"};
  return names;
}

bool is_name(std::string_view word) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !word.empty() && word.size() <= 40 && letter(word[0]) &&
         std::all_of(word.begin(), word.end(), [&](char c) { return letter(c) || digit(c); });
}

// Returns the problem of a text that is too long or contains powers, assignments, texts or characters that formulas do
// not have. muParser would accept some of these.
std::optional<config::Problem> not_taken(std::string_view text) {
  if (text.size() > longest) return config::Problem{"is too long", fmt::format("{} characters at most", longest)};
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '^') return config::Problem{"has a power", "write it as a product"};
    if (c == '"' || c == '\'') return config::Problem{"contains a text", "use numbers and names only"};
    if (static_cast<unsigned char>(c) < ' ' || static_cast<unsigned char>(c) > '~')
      return config::Problem{"contains a character that formulas do not have",
                             "use letters, digits and + - * / ( ) < > = ! & | ? :"};
    if (c != '=') continue;
    const bool second = i > 0 && (text[i - 1] == '=' || text[i - 1] == '<' || text[i - 1] == '>' || text[i - 1] == '!');
    const bool first = i + 1 < text.size() && text[i + 1] == '=';
    if (!second && !first) return config::Problem{"assigns with '='", "write '==' to compare"};
  }
  return std::nullopt;
}

config::Problem told(const mu::Parser::exception_type& error, const Names& names) {
  if (error.GetCode() != mu::ecUNASSIGNABLE_TOKEN || !is_name(error.GetToken()))
    return {"is not a formula: " + error.GetMsg(), "use numbers, names, + - * / ( ), comparisons and functions"};
  std::vector<std::string> known = functions();
  for (const auto& [name, value] : names.visible()) known.push_back(name);
  return {"uses the unknown name " + config::in_quotes(error.GetToken()),
          config::suggestion(error.GetToken(), known, "names")};
}

}  // namespace

double* Names::add(const std::string& name, double value, std::string& why) {
  const auto taken =
      std::find_if(visible_.begin(), visible_.end(), [&](const auto& known) { return known.first == name; });
  if (!is_name(name)) {
    why = config::in_quotes(name) + " is not a name: use letters, digits and _, beginning with a letter";
  } else if (taken != visible_.end() || std::count(functions().begin(), functions().end(), name) > 0 ||
             std::count(units().begin(), units().end(), name) > 0) {
    why = config::in_quotes(name) + " is already used as a name";
  } else {
    visible_.emplace_back(name, &values_.emplace_back(value));
    return visible_.back().second;
  }
  return nullptr;
}

std::optional<Formula> Formula::compile(const FormulaText& text, std::string_view key, const Names& names,
                                        config::Diagnostics& diagnostics) {
  const auto fail = [&](const config::Problem& problem) {
    diagnostics.error(text.place, fmt::format("'{}' {}: {}", key, problem.what, config::in_quotes(text.text)),
                      problem.remedy);
    return std::nullopt;
  };
  if (auto problem = not_taken(text.text)) return fail(*problem);
  Formula made;
  made.place_ = text.place;
  made.key_ = key;
  made.parser_ = make_parser();
  try {
    for (const auto& [name, value] : names.visible()) made.parser_->DefineVar(name, value);
    made.parser_->SetExpr(text.text);
    made.parser_->Eval();
    if (made.parser_->GetNumResults() != 1) return fail({"consists of several formulas", "remove the comma"});
  } catch (const mu::Parser::exception_type& error) {
    return fail(told(error, names));
  }
  return made;
}

double Formula::value() const { return parser_->Eval(); }

bool Formula::uses(const double* name) const {
  const auto& used = parser_->GetUsedVar();
  return std::any_of(used.begin(), used.end(), [name](const auto& entry) { return entry.second == name; });
}

}  // namespace moire::formula

namespace moire::config {

bool Codec<formula::FormulaText>::read(const Node& node, formula::FormulaText& out, const Reading& reading) {
  out.place = node.place;
  return read_text(node, out.text, reading);
}

}  // namespace moire::config
