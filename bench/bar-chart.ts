/** A bar of a chart. */
export interface Bar {
  readonly name: string;
  readonly value: number;
  /** Text that stands beside the bar. */
  readonly label: string;
}

/** Bars under one title. */
export interface BarPanel {
  readonly title: string;
  readonly bars: readonly Bar[];
  /** Value to which a bar of full length corresponds. */
  readonly longest: number;
}

const WIDTH = 820;
const BARS_X = 260;
const BARS_WIDTH = 330;
const ROW_HEIGHT = 24;
const BAR_HEIGHT = 16;
const TITLE_HEIGHT = 34;
const PANEL_GAP = 16;
const MARGIN = 20;
const RELAY_COLOUR = "#1f77b4";
const OTHER_COLOUR = "#aaaaaa";

/** Draws the panels one below the other, as SVG. Bars whose names begin with "relay" have a colour. */
export function barChart(title: string, panels: readonly BarPanel[]): string {
  let y = MARGIN;
  const drawn = panels.map((panel) => {
    const top = y;
    y += TITLE_HEIGHT + panel.bars.length * ROW_HEIGHT + PANEL_GAP;
    return drawPanel(panel, top);
  });
  const size = `width="${WIDTH}" height="${y}" viewBox="0 0 ${WIDTH} ${y}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="sans-serif" font-size="13">
<title>${title}</title>
<rect width="100%" height="100%" fill="#ffffff"/>
${drawn.join("\n")}
</svg>
`;
}

function drawPanel({ title, bars, longest }: BarPanel, top: number): string {
  const drawn = bars.map((bar, index) => {
    return drawBar(bar, top + TITLE_HEIGHT + index * ROW_HEIGHT, longest);
  });
  return [text(MARGIN, top + 16, title, 'font-weight="bold"'), ...drawn].join("\n");
}

function drawBar({ name, value, label }: Bar, y: number, longest: number): string {
  const width = Math.max(1, (value / longest) * BARS_WIDTH);
  const colour = name.startsWith("relay") ? RELAY_COLOUR : OTHER_COLOUR;
  const place = `x="${BARS_X}" y="${y}" width="${width.toFixed(1)}" height="${BAR_HEIGHT}"`;
  return [
    text(BARS_X - 8, y + 13, name, 'text-anchor="end"'),
    `<rect ${place} fill="${colour}"/>`,
    text(Math.round(BARS_X + width + 6), y + 13, label),
  ].join("\n");
}

function text(x: number, y: number, content: string, attributes = ""): string {
  const more = attributes === "" ? "" : ` ${attributes}`;
  return `<text x="${x}" y="${y}" fill="#222222"${more}>${content}</text>`;
}
