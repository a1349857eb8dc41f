"""Draws panels with lines as SVG, for the figures of the documentation. The same values give the same bytes."""
import math

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM, GAP = 860, 330, 60, 34, 14, 52, 70
BLUE, ORANGE, GREEN, PURPLE, GREY = "#1f77b4", "#d95f02", "#2a9d3a", "#8456b5", "#777777"


class Panel:
    """One of two panels that are side by side. With `x_log`, the ticks are powers of 2 at equal distances."""

    def __init__(self, number, title, x_label, x_ticks, y_ticks, legend_at, x_log=False):
        self.width = (WIDTH - LEFT - RIGHT - GAP) / 2
        self.left = LEFT + number * (self.width + GAP)
        self.legend, self.legend_at = 0, self.left + legend_at
        self.scale = math.log2 if x_log else float
        self.low, self.high = self.scale(x_ticks[0]), self.scale(x_ticks[-1])
        self.least, self.most = y_ticks[0], y_ticks[-1]
        self.out = [f'<text x="{self.left + self.width / 2:.1f}" y="18" text-anchor="middle">{title}</text>',
                    f'<text x="{self.left + self.width / 2:.1f}" y="{HEIGHT - 12}" text-anchor="middle">{x_label}</text>']
        for x in x_ticks:
            at, foot = self.x(x), self.y(self.least)
            self.out.append(f'<line x1="{at:.1f}" y1="{foot:.1f}" x2="{at:.1f}" y2="{foot + 4:.1f}" stroke="#000"/>'
                            f'<text x="{at:.1f}" y="{foot + 18:.1f}" text-anchor="middle">{x:g}</text>')
        for y in y_ticks:
            at = self.y(y)
            self.out.append(f'<line x1="{self.left}" y1="{at:.1f}" x2="{self.left + self.width:.1f}" y2="{at:.1f}" '
                            f'stroke="{"#000" if y == 0 else "#ddd"}"/>'
                            f'<text x="{self.left - 6:.1f}" y="{at + 4:.1f}" text-anchor="end">{y:g}</text>')

    def x(self, value):
        return self.left + (self.scale(value) - self.low) / (self.high - self.low) * self.width

    def y(self, value):
        return HEIGHT - BOTTOM - (value - self.least) / (self.most - self.least) * (HEIGHT - TOP - BOTTOM)

    def line(self, points, colour, name, dashes=""):
        path = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)
        self.out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.8"{dashes}/>')
        if not dashes:
            self.out += [f'<circle cx="{self.x(x):.1f}" cy="{self.y(y):.1f}" r="3" fill="{colour}"/>' for x, y in points]
        self.legend += 1
        at = TOP + 16 * self.legend
        start = self.legend_at
        self.out.append(f'<line x1="{start:.1f}" y1="{at - 4}" x2="{start + 24:.1f}" y2="{at - 4}" stroke="{colour}" '
                        f'stroke-width="1.8"{dashes}/><text x="{start + 30:.1f}" y="{at}">{name}</text>')


def ticks(most):
    step = next(step for step in (1, 2, 5, 10, 20, 25, 50, 100, 200, 500) if most / step <= 6)
    return [step * i for i in range(int(-(-most // step)) + 1)]


def svg(panels):
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
             f'font-size="12"><rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>']
    for panel in panels:
        lines += panel.out
    return "\n".join(lines + ["</svg>"])
