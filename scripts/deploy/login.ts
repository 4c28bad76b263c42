import * as z from "zod";
import { refusalOf } from "./failures.ts";
import type { Login } from "./plan.ts";
import { runWrangler } from "./wrangler.ts";

const LoginAnswer = z.looseObject({
  loggedIn: z.boolean(),
  email: z.string().nullish(),
  accounts: z.array(z.looseObject({ id: z.string(), name: z.string() })).optional(),
});

/** Asks wrangler who is logged in. @throws Refusal when Cloudflare refuses the login. */
export async function askLogin(): Promise<Login> {
  const run = await runWrangler(["whoami", "--json"]);
  try {
    return LoginAnswer.parse(JSON.parse(run.stdout));
  } catch {
    throw refusalOf("The login was refused", run);
  }
}
