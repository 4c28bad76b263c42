import { BOUNDS_MS } from "../../index-db/buckets.ts";
import type { Histogram } from "../../index-db/found-late.ts";

/** A value or histogram of a metric, with labels that distinguish it from the metric's other values. */
export interface Sample<T = number | Histogram> {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: T;
}

/** A metric with all its values. Values of a gauge or counter that have the same labels are added up. */
export type Family = {
  /** Name without the suffix that depends on the type: `_total` for a counter, `_seconds` for a histogram. */
  readonly name: string;
  readonly help: string;
} & (
  | { readonly type: "gauge" | "counter"; readonly samples: readonly Sample<number>[] }
  | { readonly type: "histogram"; readonly samples: readonly Sample<Histogram>[] }
);

/**
 * Media types of the two formats of metrics: the text format 0.0.4 of Prometheus
 * (https://prometheus.io/docs/instrumenting/exposition_formats/) and OpenMetrics 1.0
 * (https://github.com/prometheus/OpenMetrics).
 */
export const CONTENT_TYPES = {
  text: "text/plain; version=0.0.4; charset=utf-8",
  openmetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8",
} as const;

type Format = keyof typeof CONTENT_TYPES;

/** Returns metrics as text, in the text format of Prometheus or in OpenMetrics. */
export function metricsText(families: readonly Family[], format: Format): string {
  const isOpen = format === "openmetrics";
  const lines = families.flatMap((family) =>
    family.type === "histogram" ? histogramLines(family, isOpen) : valueLines(family, isOpen),
  );
  return [...lines, ...(isOpen ? ["# EOF"] : []), ""].join("\n");
}

function valueLines(
  { name, help, type, samples }: Extract<Family, { readonly type: "gauge" | "counter" }>,
  isOpen: boolean,
): readonly string[] {
  const sampleName = type === "counter" ? `${name}_total` : name;
  const family = isOpen ? name : sampleName;
  const summed = new Map<string, number>();
  for (const { labels, value } of samples) {
    const key = labelsOf(labels);
    summed.set(key, (summed.get(key) ?? 0) + value);
  }
  return [
    `# TYPE ${family} ${type}`,
    `# HELP ${family} ${help}`,
    ...Array.from(summed, ([labels, value]) => `${sampleName}${labels} ${value}`),
  ];
}

/**
 * Returns the lines of a histogram. In OpenMetrics its type is `gaugehistogram`, because its counts can fall: they
 * cover a time range whose start moves.
 */
function histogramLines(
  { name: base, help, samples }: Extract<Family, { readonly type: "histogram" }>,
  isOpen: boolean,
): readonly string[] {
  const name = `${base}_seconds`;
  const g = isOpen ? "g" : "";
  return [
    `# TYPE ${name} ${isOpen ? "gaugehistogram" : "histogram"}`,
    ...(isOpen ? [`# UNIT ${name} seconds`] : []),
    `# HELP ${name} ${help}`,
    ...samples.flatMap(({ labels, value: { counts, totalMs } }) => {
      let below = 0;
      const buckets = counts.map((count, bucket) => {
        below += count;
        const bound = BOUNDS_MS[bucket];
        const le = bound === undefined ? "+Inf" : String(bound / 1000);
        return `${name}_bucket${labelsOf({ ...labels, le })} ${below}`;
      });
      const own = labelsOf(labels);
      return [
        ...buckets,
        `${name}_${g}sum${own} ${totalMs / 1000}`,
        `${name}_${g}count${own} ${below}`,
      ];
    }),
  ];
}

function labelsOf(labels: Sample["labels"]): string {
  if (Object.keys(labels).length === 0) return "";
  const escaped = Object.entries(labels).map(([name, value]) => {
    const text = value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
    return `${name}="${text}"`;
  });
  return `{${escaped.join(",")}}`;
}
