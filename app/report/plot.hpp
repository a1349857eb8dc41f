// Figures as SVG text, drawn by gnuplot. The same figure gives the same bytes.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace moire::report {

enum class Style {
  points,
  lines,
  line_points,
  steps,  // y holds from its x to the next one
  area,   // filled down to y = 0
  bars,   // around x; with categories, several series stand side by side
};

// Values that are not finite, or not above 0 on a logarithmic axis, are left out.
struct Series {
  std::string name;  // in the legend; none where it is empty
  std::vector<double> x = {};
  std::vector<double> y = {};
  Style style = Style::points;
  std::vector<double> x_low = {}, x_high = {};  // of points: empty, or as many as x; drawn as error bars
  std::vector<double> y_low = {}, y_high = {};
  std::optional<std::size_t> colour = {};  // series of one number have one colour; none: the series' own
};

struct Figure {
  std::string title;
  std::string x_label;
  std::string y_label;
  bool log_x = false;
  bool log_y = false;
  // y = x as a line, both axes of one range, and dashed lines this share above and below it (0: none).
  bool diagonal = false;
  double band = 0;
  std::vector<double> y_lines = {};            // dashed horizontal lines
  std::vector<std::string> x_categories = {};  // names of x = 0, 1, 2...; none: numbers
  int width = 640;
  int height = 420;
  std::vector<Series> series = {};
};

// What gnuplot is told. User text in it is literal.
std::string gnuplot_script(const Figure& figure, const std::string& id);

// An <svg> element. `id` tells the parts of one figure from those of another on the same page: letters, digits and '_'.
// Throws core::RunFailure where gnuplot is missing or fails.
std::string svg(const Figure& figure, const std::string& id = "figure");

}  // namespace moire::report
