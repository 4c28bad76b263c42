import { configOf, logSettingsOf } from "../../config/runtime.ts";
import { writeBatch } from "../../index-db/index-row-queue.ts";
import type { ObjectNamespaces } from "../object-names.ts";
import { shardsOf } from "./index-shards.ts";

/** Handles a batch of messages of `INDEX_QUEUE`, the queue of index rows; see `writeBatch`. */
export async function consume(batch: MessageBatch, env: ObjectNamespaces): Promise<void> {
  const config = configOf(env);
  return writeBatch(batch, config === null ? null : shardsOf(env, config), logSettingsOf(env));
}
