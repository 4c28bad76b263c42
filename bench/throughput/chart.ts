import { type BarPanel, barChart } from "../bar-chart.ts";
import { BUSY, CONTENDERS } from "./plan.ts";
import { figuresOf, type PlaceResult, type Series } from "./results.ts";

/** Draws delivered callbacks per second and CPU time per task of each server, at 32 connections. */
export function chart(places: readonly PlaceResult[]): string {
  const panels = places.flatMap(({ place, series }) => {
    const busy = series.filter(({ connections }) => connections === BUSY);
    return [
      panel(`${place.title}: callbacks per second`, busy, "deliveredPerS", (value) =>
        value.toFixed(0),
      ),
      panel(
        `${place.title}: CPU time per task`,
        busy,
        "cpuMs",
        (value) => `${value.toFixed(2)} ms`,
      ),
    ];
  });
  return barChart("The relay beside other servers, 32 connections", panels);
}

function panel(
  title: string,
  all: readonly Series[],
  figure: "deliveredPerS" | "cpuMs",
  show: (value: number) => string,
): BarPanel {
  const bars = all.map((series) => {
    const value = figuresOf(series.rounds)[figure];
    return { name: CONTENDERS[series.contender], value, label: show(value) };
  });
  return { title, bars, longest: Math.max(...bars.map(({ value }) => value)) };
}
