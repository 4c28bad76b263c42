import type { Outcome } from "../core/record/outcome.ts";

/** The task as `GET /v1/tasks/{id}` answers it, as far as pages show it. */
export interface TaskJson {
  readonly id: string;
  readonly status: "pending" | "processing" | "completed" | "failed";
  readonly model: string;
  readonly created_at: number;
  readonly completed_at?: number;
  readonly finished_at?: number;
  readonly deadline_at?: number;
  readonly progress?: number;
  readonly account?: string;
  readonly provider?: string;
  readonly upstream?: { readonly id: string; readonly endpoint?: string };
  readonly output?: { readonly urls: readonly string[]; readonly metadata: object };
  readonly error?: { readonly code: string; readonly message: string };
  readonly failure?: { readonly category: string; readonly retryable: boolean };
  readonly metadata?: object;
  readonly usage?: object;
  readonly tracking?: TrackingJson;
  readonly credits?: {
    readonly amount: number;
    readonly state: string;
    readonly retry_at?: number;
    readonly tries?: number;
  };
  readonly callback: CallbackJson | null;
}

export interface CallbackJson {
  readonly url: string;
  readonly status: "waiting" | "sending" | "delivered" | "failed";
  readonly attempts: readonly AttemptJson[];
  readonly paused?: boolean;
  readonly ordered_by?: string;
}

export interface AttemptJson {
  readonly number: number;
  readonly series: number;
  readonly duration_ms?: number;
  readonly outcome?: Outcome;
  readonly cause?: string;
  readonly status_code?: number;
  readonly cloudflare_error?: number;
  readonly answer?: {
    readonly content_type?: string;
    readonly location_host?: string;
    readonly retry_after?: string;
  };
  readonly response_excerpt?: string;
  readonly ordered_by?: string;
}

/** Facts about an open task that only the operator sees (core/views/tracking-view.ts). */
export interface TrackingJson {
  readonly paused?: boolean;
  readonly answer?: string;
  readonly answer_since?: number;
  readonly asked_at?: number;
  readonly next_poll_at?: number;
  readonly next_poll_reason?: string;
  readonly is_extended?: boolean;
  readonly hooks_taken?: number;
  readonly hooks_kept?: number;
  readonly hooks_refused?: readonly { readonly at: number; readonly reason: string }[];
  readonly kept_jobs?: readonly string[];
}
