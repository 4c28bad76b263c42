/** A metric family in OpenMetrics text. */
export interface Family {
  readonly name: string;
  readonly type: string;
  readonly unit: string;
  readonly help: string;
  readonly samples: readonly Sample[];
}

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const META = /^# (TYPE|UNIT|HELP) (\S+) (.*)$/;
const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^\\"\n]|\\[\\"n])*)"(,|$)/;
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  counter: ["_total", "_created"],
  gauge: [""],
  histogram: ["_bucket", "_sum", "_count", "_created"],
  gaugehistogram: ["_bucket", "_gsum", "_gcount"],
};

/**
 * Parses as the OpenMetrics 1.0 specification demands, without exemplars and timestamps
 * (https://github.com/prometheus/OpenMetrics/blob/main/specification/OpenMetrics.md).
 * @throws at the first violation of the specification.
 */
export function parseOpenMetrics(text: string): readonly Family[] {
  if (!text.endsWith("\n# EOF\n")) throw new Error("must end with # EOF and a line feed");
  const families: Draft[] = [];
  for (const line of text.slice(0, -"\n# EOF\n".length).split("\n")) {
    const said = META.exec(line);
    if (said === null) families.at(-1)?.samples.push(sampleOf(line, families.at(-1)));
    else describeFamily(families, said);
    if (families.length === 0) throw new Error(`without a family: ${line}`);
  }
  for (const family of families) check(family);
  return families;
}

interface Draft extends Family {
  readonly samples: Sample[];
}

function describeFamily(families: Draft[], [line, key = "", name = "", value = ""]: string[]) {
  const last = families.at(-1);
  const isNew = last?.name !== name || last.samples.length > 0;
  if (isNew && families.some((family) => family.name === name)) throw new Error(`again: ${line}`);
  if (!NAME.test(name)) throw new Error(`name: ${line}`);
  const family: Draft = isNew ? { name, type: "", unit: "", help: "", samples: [] } : last;
  const known = new Map(Object.entries(family));
  if (known.get(key.toLowerCase()) !== "") throw new Error(`twice: ${line}`);
  families.splice(isNew ? families.length : -1, 1, { ...family, [key.toLowerCase()]: value });
}

function sampleOf(line: string, family: Family | undefined): Sample {
  const [, name = "", inner = "", number = ""] = SAMPLE.exec(line) ?? [];
  const names = SUFFIXES[family?.type ?? ""]?.map((suffix) => `${family?.name}${suffix}`);
  if (names?.includes(name) !== true) throw new Error(`stray: ${line}`);
  if (!NUMBER.test(number)) throw new Error(`number: ${line}`);
  return { name, labels: labelsOf(inner), value: Number(number) };
}

function labelsOf(inner: string): Readonly<Record<string, string>> {
  const labels: [string, string][] = [];
  for (let rest = inner; rest !== "";) {
    const [all, name = "", value = "", end] = LABEL.exec(rest) ?? [];
    if (all === undefined || (end === "," && all === rest)) throw new Error(`labels: ${inner}`);
    if (labels.some(([known]) => known === name)) throw new Error(`label twice: ${inner}`);
    const unescaped = value.replaceAll(/\\(.)/g, (_, char) => (char === "n" ? "\n" : String(char)));
    labels.push([name, unescaped]);
    rest = rest.slice(all.length);
  }
  return Object.fromEntries(labels);
}

function check({ name, type, unit, samples }: Family): void {
  if (unit !== "" && !name.endsWith(`_${unit}`)) throw new Error(`${name} lacks its unit`);
  if (name.endsWith("_total")) throw new Error(`${name} must not end in _total`);
  const series = samples.map((sample) => JSON.stringify([sample.name, sample.labels]));
  if (new Set(series).size < series.length) throw new Error(`${name} has a series twice`);
  const isNegative = samples.some(({ value }) => value < 0);
  if (type !== "gauge" && isNegative) throw new Error(`${name} is negative`);
  if (type === "histogram") checkHistogram(name, samples, "_sum", "_count");
  if (type === "gaugehistogram") checkHistogram(name, samples, "_gsum", "_gcount");
}

function checkHistogram(
  name: string,
  samples: readonly Sample[],
  sum: string,
  total: string,
): void {
  const buckets = samples.filter((sample) => sample.name === `${name}_bucket`);
  const bounds = buckets.map(({ labels }) => labels["le"] ?? "");
  if (bounds.at(-1) !== "+Inf") throw new Error(`${name} lacks +Inf`);
  const strange = bounds.slice(0, -1).find((bound) => !NUMBER.test(bound));
  if (strange !== undefined) throw new Error(`${name} le="${strange}" is no number`);
  const counts = buckets.map(({ value }) => value);
  if (!isRising(counts) || !isRising(bounds.slice(0, -1).map(Number))) {
    throw new Error(`${name} is not cumulative`);
  }
  const count = samples.find((sample) => sample.name === `${name}${total}`)?.value;
  if (count !== counts.at(-1)) throw new Error(`${name}${total} is not that of +Inf`);
  if (!samples.some((sample) => sample.name === `${name}${sum}`)) throw new Error(`${name}${sum}?`);
}

function isRising(numbers: readonly number[]): boolean {
  return numbers.every((number, i) => i === 0 || number >= (numbers[i - 1] ?? 0));
}
