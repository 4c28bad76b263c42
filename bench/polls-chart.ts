import { type Panel, percent, type Row, seconds, titleOf } from "./polls-report.ts";

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

/** Draws the mean lateness of each row as a bar, as a part of the job's duration; one panel below the other. */
export function chart(panels: readonly Panel[]): string {
  const longest = Math.max(...panels.flatMap(({ rows }) => rows.map(meanPart)));
  let y = MARGIN;
  const drawn = panels.map((panel) => {
    const top = y;
    y += TITLE_HEIGHT + panel.rows.length * ROW_HEIGHT + PANEL_GAP;
    return drawPanel(panel, top, longest);
  });
  const size = `width="${WIDTH}" height="${y}" viewBox="0 0 ${WIDTH} ${y}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="sans-serif" font-size="13">
<title>Mean lateness of results by cadence of polls</title>
<rect width="100%" height="100%" fill="#ffffff"/>
${drawn.join("\n")}
</svg>
`;
}

function drawPanel({ durations, rows }: Panel, top: number, longest: number): string {
  const title = `${titleOf(durations)}: mean lateness, as a part of the job’s duration`;
  const bars = rows.map((row, index) => {
    return drawBar(row, top + TITLE_HEIGHT + index * ROW_HEIGHT, longest);
  });
  return [text(MARGIN, top + 16, title, 'font-weight="bold"'), ...bars].join("\n");
}

function drawBar(row: Row, y: number, longest: number): string {
  const { name, lateness } = row;
  const width = Math.max(1, (meanPart(row) / longest) * BARS_WIDTH);
  const colour = name.startsWith("relay") ? RELAY_COLOUR : OTHER_COLOUR;
  const label = `${percent(lateness.meanPart)} (${seconds(lateness.meanMs)}), ${lateness.polls.toFixed(1)} polls`;
  const place = `x="${BARS_X}" y="${y}" width="${width.toFixed(1)}" height="${BAR_HEIGHT}"`;
  return [
    text(BARS_X - 8, y + 13, name, 'text-anchor="end"'),
    `<rect ${place} fill="${colour}"/>`,
    text(Math.round(BARS_X + width + 6), y + 13, label),
  ].join("\n");
}

function meanPart({ lateness }: Row): number {
  return lateness.meanPart;
}

function text(x: number, y: number, content: string, attributes = ""): string {
  const more = attributes === "" ? "" : ` ${attributes}`;
  return `<text x="${x}" y="${y}" fill="#222222"${more}>${content}</text>`;
}
