import { sum } from "../../core/sum.ts";
import { countText } from "./format.ts";

/**
 * A bar of a chart. It consists of parts that are stacked from bottom to top, each as high as the number that it shows.
 */
export interface Bar {
  /** Name of the bar, e.g. the hour for which it stands. */
  readonly name: string;
  /** Path of the list of the tasks that the bar counts. Absent when there is none. */
  readonly href?: string;
  /** True when the name of the bar is written below the axis. */
  readonly isLabelled: boolean;
  readonly parts: readonly number[];
}

interface BarsProps {
  /** Description of the chart for readers who do not see it. */
  readonly title: string;
  readonly bars: readonly Bar[];
  /** Name of each part of a bar, with the CSS class that colours it. */
  readonly kinds: readonly { readonly name: string; readonly class: string }[];
}

const HEIGHT = 150;
const TOP = 8;
const BASE = 128;
/** Width of the space for the axis labels on the left, in percent of the chart's width. */
const LEFT = 6;
/** Largest width of a bar with the space around it, in percent of the chart's width. */
const MAX_WIDTH = 20;

/** Draws bars over time. A bar that counts tasks is a link to their list. */
export function Bars({ title, bars, kinds }: BarsProps) {
  const most = Math.max(1, ...bars.map(({ parts }) => sum(parts)));
  const ticks = axisTicks(most);
  const top = ticks.at(-1) ?? most;
  const yOf = (value: number) => BASE - ((BASE - TOP) * value) / top;
  const width = Math.min(MAX_WIDTH, (100 - LEFT) / bars.length);
  return (
    <svg class="chart" width="100%" height={HEIGHT}>
      <title>{title}</title>
      {ticks.map((value) => (
        <>
          <line class="grid" x1={`${LEFT}%`} x2="100%" y1={yOf(value)} y2={yOf(value)} />
          <text x={`${LEFT - 1}%`} y={yOf(value) + 4} text-anchor="end">
            {countText(value)}
          </text>
        </>
      ))}
      {bars.map((bar, at) => {
        const { name, isLabelled } = bar;
        const x = LEFT + at * width;
        return (
          <>
            <DrawnBar bar={bar} kinds={kinds} x={x} width={width} yOf={yOf} />
            {isLabelled ? (
              <text x={`${x + width / 2}%`} y={HEIGHT - 4} text-anchor="middle">
                {name}
              </text>
            ) : null}
          </>
        );
      })}
    </svg>
  );
}

interface DrawnBarProps {
  readonly bar: Bar;
  readonly kinds: BarsProps["kinds"];
  readonly x: number;
  readonly width: number;
  readonly yOf: (value: number) => number;
}

function DrawnBar({ bar: { name, href, parts }, kinds, x, width, yOf }: DrawnBarProps) {
  if (sum(parts) === 0) return null;
  const counts = kinds.map((kind, part) => `${countText(parts[part] ?? 0)} ${kind.name}`);
  const text = `${name}: ${counts.join(", ")}`;
  const drawn = (
    <>
      <title>{text}</title>
      {parts.map((count, part) => {
        const below = sum(parts.slice(0, part));
        const y = yOf(below + count);
        return count === 0 ? null : (
          <rect
            class={kinds[part]?.class}
            x={`${x + width * 0.12}%`}
            width={`${width * 0.76}%`}
            y={y}
            height={Math.max(1, yOf(below) - y)}
          />
        );
      })}
    </>
  );
  if (href === undefined) return <g>{drawn}</g>;
  return (
    <a href={href} aria-label={text}>
      {drawn}
    </a>
  );
}

/** Returns the sums of all bars in words, e.g. `12 delivered, 1 failed`. */
export function sumsText({ bars, kinds }: Omit<BarsProps, "title">): string {
  const sums = kinds.map(
    ({ name }, part) => `${countText(sum(bars.map(({ parts }) => parts[part] ?? 0)))} ${name}`,
  );
  return sums.join(", ");
}

/**
 * Returns the numbers that label an axis from 0 to `most`, e.g. 0, 20, 40, 60: multiples of one number, which is 1, 2
 * or 5 times a power of ten, and at most five of them. The last one is at least `most`.
 */
export function axisTicks(most: number): readonly number[] {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, most)));
  const sizes = [power / 10, power / 5, power / 2, power, power * 2, power * 5];
  const size = sizes.find((each) => each >= 1 && most / each <= 4) ?? power;
  return Array.from({ length: Math.ceil(most / size) + 1 }, (_, n) => n * size);
}
