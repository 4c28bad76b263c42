import * as z from "zod/mini";
import type { RouteDescription } from "../http/route.openapi.ts";
import { CONTENT_TYPES } from "./metrics-text.ts";

const METRICS = [
  "# TYPE task_relay_paused gauge",
  "# HELP task_relay_paused 1 while PAUSED is set.",
  "task_relay_paused 0",
  "",
].join("\n");

const Metrics = z.string();

export const readMetricsDescription = {
  audience: "operator",
  summary: "Read totals, and counts and latencies of the last 48 hours, for Prometheus",
  request: { headers: ["Accept"] },
  answers: {
    200: {
      description: "the metrics; as OpenMetrics where Accept asks for it",
      content: {
        [CONTENT_TYPES.text]: { schema: Metrics, example: METRICS },
        [CONTENT_TYPES.openmetrics]: { schema: Metrics, example: `${METRICS}# EOF\n` },
      },
      headers: { Vary: "always" },
    },
  },
  problems: ["index_disabled"],
} as const satisfies RouteDescription;
