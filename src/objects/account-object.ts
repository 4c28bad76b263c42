import { DurableObject } from "cloudflare:workers";

/** One account. Bound from the first deployment on, so that accounts need no migration. */
export class AccountObject extends DurableObject<object> {}
