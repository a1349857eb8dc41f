// Draws figures as SVG with gnuplot. Equal figures give equal bytes.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace moire::report {

enum class Style {
  points,
  lines,
  line_points,
  steps,  // y holds from its x to the next x
  area,   // filled down to y = 0
  bars,   // around x; with categories, several series stand side by side
};

// One curve. A point is left out if one of its coordinates is not finite, or not positive on a logarithmic axis.
struct Series {
  std::string name;  // in the legend; empty: the series is not in the legend
  std::vector<double> x = {};
  std::vector<double> y = {};
  Style style = Style::points;
  std::vector<double> x_low = {}, x_high = {};  // error bars of points: empty, or one for each x
  std::vector<double> y_low = {}, y_high = {};
  std::optional<std::size_t> colour = {};  // series with the same number share a colour; absent: a colour of its own
};

struct Figure {
  std::string title;
  std::string x_label;
  std::string y_label;
  bool log_x = false;
  bool log_y = false;
  // diagonal: draws y = x, with the same range on both axes. band: if positive, draws dashed lines at this fraction
  // above and below y = x.
  bool diagonal = false;
  double band = 0;
  std::vector<double> y_lines = {};            // dashed horizontal lines
  std::vector<std::string> x_categories = {};  // labels of x = 0, 1, 2, ...; empty: x has numbers
  int width = 640;
  int height = 420;
  std::vector<Series> series = {};
};

// Returns the script with which gnuplot draws the figure. gnuplot takes the texts of the figure literally, not as
// commands.
std::string gnuplot_script(const Figure& figure, const std::string& id);

// Returns the figure as an <svg> element. Names inside the element begin with `id`, so that they differ from the names
// of other figures on a page. `id` consists of letters, digits and '_'. Throws core::RunFailure if gnuplot is missing
// or fails.
std::string svg(const Figure& figure, const std::string& id = "figure");

}  // namespace moire::report
