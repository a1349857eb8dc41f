// Writes a figure as a gnuplot script.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>

#include "app/report/plot.hpp"

namespace moire::report {

namespace {

// Colours that people with colour blindness can tell apart (Okabe and Ito).
constexpr std::array<const char*, 7> colours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                "#e69f00", "#56b4e9", "#000000"};
constexpr std::array<int, 7> marks = {7, 5, 9, 13, 6, 4, 8};  // gnuplot's point types
constexpr const char* guide = "dashtype (6,4) linecolor rgb '#888888' linewidth 1";

// Returns a string that gnuplot takes literally: everything but plain characters becomes an octal escape. (In single
// quotes, gnuplot fails on a leading quote; in double quotes, it runs text in backquotes.)
std::string gnuplot_text(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = std::isalnum(byte) != 0 || std::string_view(" _-+.,:/()=").find(c) != std::string_view::npos;
    if (plain) {
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += ' ';
    } else {
      out += fmt::format("\\{:03o}", byte);
    }
  }
  return out + "\"";
}

// Returns the label of a tick. gnuplot takes tick labels as format strings, so each % is doubled.
std::string tick_label(const std::string& text) {
  std::string doubled;
  for (const char c : text) doubled += c == '%' ? "%%" : std::string(1, c);
  return gnuplot_text(doubled);
}

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  bool empty() const { return low > high; }
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

class Script {
 public:
  Script(const Figure& figure, const std::string& id) : figure_(figure) {
    out_ = "set encoding utf8\n";
    out_ += fmt::format(
        "set terminal svg size {},{} dynamic noenhanced font 'sans-serif,12' background '#ffffff' name {}\n",
        figure.width, figure.height, gnuplot_text(id));
    find_ranges();
  }

  std::string text() {
    settings();
    axes();
    for (std::size_t s = 0; s < figure_.series.size(); ++s) series(figure_.series[s], s);
    guides();
    if (plots_.empty()) {
      out_ += "set label 1 'nothing to show' at graph 0.5,0.5 center\n";
      plots_.emplace_back("NaN notitle");
    }
    out_ += "plot ";
    for (std::size_t i = 0; i < plots_.size(); ++i) out_ += (i > 0 ? ", \\\n     " : "") + plots_[i];
    return out_ + "\n";
  }

 private:
  bool can_show_x(double x) const { return std::isfinite(x) && (!figure_.log_x || x > 0); }
  bool can_show_y(double y) const { return std::isfinite(y) && (!figure_.log_y || y > 0); }
  bool can_show(const Series& series, std::size_t i) const {
    return i < series.y.size() && can_show_x(series.x[i]) && can_show_y(series.y[i]);
  }

  static double end_of_bar(const std::vector<double>& ends, std::size_t i, double otherwise) {
    return i < ends.size() && std::isfinite(ends[i]) ? ends[i] : otherwise;
  }

  void find_ranges() {
    for (const Series& series : figure_.series) {
      for (std::size_t i = 0; i < series.x.size(); ++i) {
        if (!can_show(series, i)) continue;
        x_.add(series.x[i]);
        y_.add(series.y[i]);
        for (const double end : {end_of_bar(series.x_low, i, series.x[i]), end_of_bar(series.x_high, i, series.x[i])})
          if (can_show_x(end)) x_.add(end);
        for (const double end : {end_of_bar(series.y_low, i, series.y[i]), end_of_bar(series.y_high, i, series.y[i])})
          if (can_show_y(end)) y_.add(end);
        if (series.style == Style::bars || series.style == Style::area) y_.add(figure_.log_y ? series.y[i] : 0);
      }
    }
    for (const double line : figure_.y_lines)
      if (can_show_y(line) && !y_.empty()) y_.add(line);
    if (!figure_.diagonal || x_.empty()) return;
    Range both = x_;
    both.add(y_.low);
    both.add(y_.high);
    x_ = y_ = both;
  }

  void settings() {
    out_ += fmt::format("set title {}\nset xlabel {}\nset ylabel {}\n", gnuplot_text(figure_.title),
                        gnuplot_text(figure_.x_label), gnuplot_text(figure_.y_label));
    out_ += "set border 3\nset tics nomirror out\nset grid linecolor rgb '#dddddd' linewidth 1\n";
    const auto named = std::count_if(figure_.series.begin(), figure_.series.end(),
                                     [](const Series& series) { return !series.name.empty(); });
    // The legend must not cover the curves.
    if (named > 0)
      out_ +=
          named <= 4 ? "set key above left Left reverse samplen 2\n" : "set key outside right Left reverse samplen 2\n";
    out_ += "set style fill solid 0.6 noborder\nset bars small\nset clip two\n";
  }

  // Returns the range of an axis with a margin, so that no point lies on the frame and a range of one value has a
  // width.
  static std::string range_text(Range range, bool log, bool from_zero) {
    if (range.empty()) return log ? "[1:10]" : "[0:1]";
    if (log) {
      const double factor = std::max(1.1, std::pow(range.high / range.low, 0.05));
      return fmt::format("[{:.6g}:{:.6g}]", range.low / factor, range.high * factor);
    }
    const double width = range.high - range.low;
    const double margin = width > 0 ? 0.05 * width : std::max(0.05 * std::abs(range.high), 0.5);
    const double low = from_zero && range.low == 0 ? 0 : range.low - margin;
    return fmt::format("[{:.6g}:{:.6g}]", low, range.high + margin);
  }

  // Returns the commands for a logarithmic axis. By itself gnuplot labels only powers of ten, which leaves an axis of
  // one decade nearly without labels. So an axis of up to three decades gets ticks of its own.
  static std::string log_ticks(const char* axis, Range range) {
    std::string out = fmt::format("set logscale {}\n", axis);
    const double decades = range.empty() ? 1 : std::log10(range.high / range.low);
    if (decades > 3) return out;
    const std::vector<int> digits =
        decades > 1 ? std::vector<int>{1, 2, 5} : std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9};
    const double low = range.empty() ? 1 : range.low;
    const int first = static_cast<int>(std::floor(std::log10(low))) - 1;
    std::string ticks;
    for (int power = first; power <= first + 5; ++power) {
      for (const int digit : digits) {
        const double at = digit * std::pow(10.0, power);
        ticks += fmt::format("{}{} {:.6g}", ticks.empty() ? "" : ", ", gnuplot_text(fmt::format("{:.6g}", at)), at);
      }
    }
    return out + fmt::format("set {}tics ({})\n", axis, ticks);
  }

  void axes() {
    if (figure_.log_x) out_ += log_ticks("x", x_);
    if (figure_.log_y) out_ += log_ticks("y", y_);
    if (figure_.x_categories.empty()) {
      Range range = x_;
      for (const Series& series : figure_.series) {
        const double half = series.style == Style::bars ? 0.5 * bar_spacing(series) : 0;
        if (half == 0 || figure_.log_x) continue;
        range.add(x_.low - half);
        range.add(x_.high + half);
      }
      out_ += fmt::format("set xrange {}\n", range_text(range, figure_.log_x, true));
    } else {
      out_ += fmt::format("set xrange [-0.6:{}]\n", static_cast<double>(figure_.x_categories.size()) - 0.4);
      out_ += figure_.x_categories.size() > 6 ? "set xtics rotate by -45 left\nset xtics (" : "set xtics (";
      for (std::size_t i = 0; i < figure_.x_categories.size(); ++i)
        out_ += fmt::format("{}{} {}", i > 0 ? ", " : "", tick_label(figure_.x_categories[i]), i);
      out_ += ")\n";
    }
    out_ += fmt::format("set yrange {}\n", range_text(y_, figure_.log_y, true));
  }

  // Returns the smallest distance between neighbouring bars along x; 1 if there are no two bars.
  double bar_spacing(const Series& series) const {
    std::vector<double> xs;
    for (std::size_t i = 0; i < series.x.size(); ++i)
      if (can_show(series, i)) xs.push_back(series.x[i]);
    std::sort(xs.begin(), xs.end());
    double least = 0;
    for (std::size_t i = 1; i < xs.size(); ++i) {
      const double gap = xs[i] - xs[i - 1];
      if (gap > 0 && (least == 0 || gap < least)) least = gap;
    }
    return least > 0 ? least : 1;
  }

  std::size_t bar_series() const {
    return static_cast<std::size_t>(std::count_if(figure_.series.begin(), figure_.series.end(),
                                                  [](const Series& series) { return series.style == Style::bars; }));
  }

  void series(const Series& series, std::size_t number) {
    const bool bars = series.style == Style::bars;
    const bool beside = bars && !figure_.x_categories.empty();
    const double share = 0.8 / static_cast<double>(std::max<std::size_t>(1, bar_series()));
    const double width = !bars ? 0 : beside ? share : bar_spacing(series);
    const double shift = beside ? share * (static_cast<double>(bars_drawn_) + 0.5) - 0.4 : 0;
    if (bars) ++bars_drawn_;

    std::string rows;
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (!can_show(series, i)) continue;
      const double x = series.x[i];
      const double y = series.y[i];
      const auto end = [](double value, bool can, double otherwise) { return can ? value : otherwise; };
      const double x_low = end_of_bar(series.x_low, i, x);
      const double x_high = end_of_bar(series.x_high, i, x);
      const double y_low = end_of_bar(series.y_low, i, y);
      const double y_high = end_of_bar(series.y_high, i, y);
      rows += fmt::format("{:.9g} {:.9g} {:.9g} {:.9g} {:.9g} {:.9g}\n", x + shift, y, end(x_low, can_show_x(x_low), x),
                          end(x_high, can_show_x(x_high), x), end(y_low, can_show_y(y_low), y),
                          end(y_high, can_show_y(y_high), y));
    }
    if (rows.empty()) return;
    out_ += fmt::format("$d{} << EOD\n{}EOD\n", number, rows);
    plots_.push_back(fmt::format("$d{} {} {}", number, drawn_as(series, number, width),
                                 series.name.empty() ? "notitle" : "title " + gnuplot_text(series.name)));
  }

  static std::string drawn_as(const Series& series, std::size_t position, double width) {
    const std::size_t number = series.colour.value_or(position);
    const std::string colour = fmt::format("linecolor rgb '{}'", colours.at(number % colours.size()));
    const std::string mark = fmt::format("pointtype {} pointsize 0.5", marks.at(number % marks.size()));
    switch (series.style) {
      case Style::points: {
        const bool x_bars = !series.x_low.empty() || !series.x_high.empty();
        const bool y_bars = !series.y_low.empty() || !series.y_high.empty();
        if (x_bars && y_bars) return fmt::format("using 1:2:3:4:5:6 with xyerrorbars {} {}", mark, colour);
        if (x_bars) return fmt::format("using 1:2:3:4 with xerrorbars {} {}", mark, colour);
        if (y_bars) return fmt::format("using 1:2:5:6 with yerrorbars {} {}", mark, colour);
        return fmt::format("using 1:2 with points {} {}", mark, colour);
      }
      case Style::lines:
        return fmt::format("using 1:2 with lines linewidth 1.5 {}", colour);
      case Style::line_points:
        return fmt::format("using 1:2 with linespoints linewidth 1.5 {} {}", mark, colour);
      case Style::steps:
        return fmt::format("using 1:2 with steps linewidth 1.5 {}", colour);
      case Style::area:
        return fmt::format("using 1:2 with filledcurves y=0 {}", colour);
      case Style::bars:
        return fmt::format("using 1:2:({:.9g}) with boxes {}", width, colour);
    }
    return {};
  }

  void guides() {
    if (x_.empty()) return;
    if (figure_.diagonal) {
      out_ += fmt::format("$one << EOD\n{0:.9g} {0:.9g}\n{1:.9g} {1:.9g}\nEOD\n", low_end(), high_end());
      plots_.emplace_back("$one using 1:2 with lines linecolor rgb '#444444' linewidth 1 notitle");
      if (figure_.band > 0) {
        plots_.push_back(fmt::format("$one using 1:($2*{:.9g}) with lines {} notitle", 1 + figure_.band, guide));
        plots_.push_back(fmt::format("$one using 1:($2*{:.9g}) with lines {} notitle", 1 - figure_.band, guide));
      }
    }
    for (const double line : figure_.y_lines) {
      if (!can_show_y(line)) continue;
      out_ +=
          fmt::format("set arrow from graph 0,first {0:.9g} to graph 1,first {0:.9g} nohead back {1}\n", line, guide);
    }
  }

  // The x (and y) at which the diagonal begins and ends. Both ends lie outside the frame, which clips the line.
  double low_end() const { return figure_.log_x ? x_.low / 10 : std::min(0.0, x_.low * 2); }
  double high_end() const { return figure_.log_x ? x_.high * 10 : x_.high * 2; }

  const Figure& figure_;
  std::string out_;
  std::vector<std::string> plots_;
  std::size_t bars_drawn_ = 0;
  Range x_, y_;
};

}  // namespace

std::string gnuplot_script(const Figure& figure, const std::string& id) { return Script(figure, id).text(); }

}  // namespace moire::report
