import { hostOf } from "../../core/url.ts";

/** The data about one try to copy an output that are written into a data point of Analytics Engine. */
interface MeasuredCopy {
  /** The upstream's own link to the output. */
  readonly source: string;
  readonly connection: string | null;
  /** Number of the try to copy the output, counted from 1. */
  readonly number: number;
  readonly durationMs: number;
  /** Outcome of the try: `kept` when the copy is stored, otherwise the reason why the try has failed. */
  readonly outcome: string;
  /** Size of the copy in bytes; 0 when the try has failed. */
  readonly bytes: number;
}

/**
 * Writes a data point about one try to copy an output: its outcome, the host, the connection, duration and bytes.
 * @param series the dataset `METRICS` of Analytics Engine; undefined when it is not bound.
 */
export function measureCopy(series: AnalyticsEngineDataset | undefined, copy: MeasuredCopy): void {
  series?.writeDataPoint({
    indexes: [""],
    blobs: [copy.outcome, hostOf(copy.source) ?? "", copy.connection ?? "", "copy"],
    doubles: [copy.number, copy.durationMs, copy.bytes],
  });
}
