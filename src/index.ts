import { app } from "./app.ts";

export { AccountObject } from "./objects/account-object.ts";
export { TaskObject } from "./objects/task-object.ts";

export default { fetch: app.fetch };
