import { route } from "./http/route.ts";

export const listen = route(
  {
    id: "listen",
    method: "GET",
    path: "/v1/listen",
    access: "listen",
    rateLimit: "LIMIT_LISTS",
  },
  async (call) => {
    const { connectListener } = await import("./connect-listener.ts");
    return connectListener(call);
  },
);
