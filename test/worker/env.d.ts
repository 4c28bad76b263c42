import type * as relay from "../../src/index.ts";

declare global {
  namespace Cloudflare {
    interface Env {
      readonly RELAY_SECRET: string;
      readonly OPERATOR_KEYS: string;
      readonly SHARD_1?: D1Database;
      readonly SHARD_2?: D1Database;
    }
    interface GlobalProps {
      mainModule: typeof relay;
    }
  }
}
