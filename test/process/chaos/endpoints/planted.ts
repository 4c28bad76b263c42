import type { Task } from "../../harness/client.ts";
import type { EndpointState } from "./endpoint-history.ts";
import { inOne, type Plant, type PlantedFault, plantedInAll } from "../planting.ts";
import { TOKEN_START } from "./judge.ts";
import { DEFAULT } from "./plan.ts";
import {
  endpointKey,
  type Evidence,
  isProgress,
  type Recording,
  type SignedPost,
  urlOf,
} from "./recording.ts";

type Callback = NonNullable<Task["callback"]>;

const inOneTask = inOne<Evidence, Recording>;

/** Changes the posts of the first task that has one which is meant. */
function inPost(
  isMeant: (post: SignedPost, evidence: Evidence) => boolean,
  change: (post: SignedPost) => SignedPost,
): Plant<Recording> {
  return inOneTask((evidence) => {
    const at = evidence.posts.findIndex((post) => isMeant(post, evidence));
    const post = evidence.posts[at];
    if (post === undefined) return null;
    return { ...evidence, posts: evidence.posts.with(at, change(post)) };
  });
}

/** Changes the callback of the first task of which the condition holds. */
function inCallback(
  isMeant: (evidence: Evidence) => boolean,
  change: (callback: Callback) => Callback | null,
): Plant<Recording> {
  return inOneTask((evidence) => {
    const callback = evidence.task?.callback ?? null;
    if (evidence.task === null || callback === null || !isMeant(evidence)) return null;
    return { ...evidence, task: { ...evidence.task, callback: change(callback) } };
  });
}

/** Changes every state that an endpoint had at the URL of the first post that is meant. */
function inStateOf(
  isMeant: (post: SignedPost, evidence: Evidence) => boolean,
  change: (state: EndpointState) => EndpointState,
): Plant<Recording> {
  return (recording) => {
    const posts = recording.evidence.flatMap((each) =>
      each.posts.filter((post) => isMeant(post, each)),
    );
    const [url] = posts.map(urlOf);
    if (url === undefined) return null;
    const changed = Array.from(recording.changes, ([key, changes]) => {
      const others = changes.map((each) =>
        each.state?.url === url ? { ...each, state: change(each.state) } : each,
      );
      return [key, others] as const;
    });
    return { ...recording, changes: new Map(changed) };
  };
}

/** Changes a recording with a task that is meant so that the endpoint of the task was always there, with these events. */
function inEndpointOf(
  isMeant: (evidence: Evidence) => boolean,
  events: EndpointState["events"],
): Plant<Recording> {
  return (recording) => {
    const plan = recording.evidence.find(isMeant)?.history.plan;
    if (plan === undefined) return null;
    return withEndpoint(recording, endpointKey(plan.owner, plan.endpoint ?? DEFAULT), events);
  };
}

function withEndpoint(
  recording: Recording,
  key: string,
  events: EndpointState["events"],
): Recording | null {
  const states = [...recording.changes.values()].flat().map((change) => change.state);
  const state = states.find((each) => each !== null);
  if (state === undefined) return null;
  const always = [{ state: { ...state, events }, sentAt: 0, answeredAt: 0 }];
  return { ...recording, changes: new Map([...recording.changes, [key, always]]) };
}

/** Tells whether a post belongs to a task that no redelivery has sent elsewhere. */
function isAutomatic(post: SignedPost, { history }: Evidence): boolean {
  return history.orders.length === 0 && !isProgress(post);
}

const isTold: Parameters<typeof inCallback>[0] = ({ history, task }) =>
  history.orders.length === 0 && (task?.callback?.attempts.length ?? 0) > 0;

const CHANGED_PATH = "/changed-since";

export const PLANTED_FAULTS: readonly PlantedFault<Recording>[] = [
  ...plantedInAll<Recording>(),
  {
    what: "an attempt that goes to the URL that the endpoint has got since",
    fault: "a URL that its endpoint did not have",
    plant: inPost(isAutomatic, (post) => ({ ...post, path: CHANGED_PATH })),
  },
  {
    what: "an attempt with the headers that the endpoint has got since",
    fault: "headers that its endpoint did not have",
    plant: inPost(isAutomatic, (post) => ({
      ...post,
      headers: { ...post.headers, "x-endpoint-token": "changed" },
    })),
  },
  {
    what: "an attempt that is signed with the secret of another owner",
    fault: "a secret that does not sign for its endpoint",
    plant: inPost(isAutomatic, (post) => ({
      ...post,
      signers: [{ chain: "other", generation: 0 }],
    })),
  },
  {
    what: "an attempt that is signed only with a later secret of its endpoint",
    fault: "a secret that does not sign for its endpoint",
    plant: inPost(
      (post, evidence) =>
        isAutomatic(post, evidence) && post.signers.some(({ generation }) => generation > 0),
      (post) => ({
        ...post,
        signers: post.signers.map(({ chain }) => ({ chain, generation: 1_000 })),
      }),
    ),
  },
  {
    what: "attempts by the waits that the endpoint has got since",
    fault: "attempts that the waits of its endpoint do not say",
    plant: inStateOf(
      (post, evidence) => isAutomatic(post, evidence) && post.headers["x-attempt"] !== "1",
      (state) => ({ ...state, scheduleS: [0, 900] }),
    ),
  },
  {
    what: "a callback of an end that its endpoint does not take",
    fault: "a callback of an end that its endpoint does not take",
    plant: inEndpointOf(isTold, ["progress"]),
  },
  {
    what: "progress that its endpoint does not take",
    fault: "progress that its endpoint does not take",
    plant: inEndpointOf(({ posts }) => posts.some(isProgress), ["completed", "failed"]),
  },
  {
    what: "a callback that a change of its endpoint has ended",
    fault: "no attempt of an end that its endpoint takes",
    plant: (recording) => {
      const changed = inEndpointOf(isTold, ["completed", "failed"])(recording);
      return changed === null ? null : inCallback(isTold, () => null)(changed);
    },
  },
  {
    what: "a callback that still rests after the pause",
    fault: "a callback that is paused",
    plant: inCallback(isTold, (callback) => ({ ...callback, status: "paused" })),
  },
  {
    what: "an attempt that was sent while its host was paused",
    fault: "a callback to a paused host",
    plant: ({ pauses, ...recording }) => {
      const posts = recording.evidence.flatMap((each) => each.posts);
      const [post] = posts;
      if (post === undefined) return null;
      const { host = "" } = post.headers;
      const around = { orderedAt: post.arrivedAt - 60_000, endedAt: post.arrivedAt + 1 };
      return { ...recording, pauses: [...pauses, { host, ...around }] };
    },
  },
  {
    what: "a redelivery to what the endpoint was before the order",
    fault: "redelivered with a URL that its endpoint did not have",
    plant: inCallback(
      ({ task, history }) => {
        const isTaken = history.orders.some(({ isRefused }) => !isRefused);
        return isTaken && task?.callback?.attempts.at(-1)?.url === undefined;
      },
      (callback) => ({ ...callback, url: `http://127.0.0.1:1${CHANGED_PATH}` }),
    ),
  },
  {
    what: "a redelivery that is lost",
    fault: "another number of series",
    plant: inOneTask((evidence) => {
      const { history } = evidence;
      const [order] = history.orders.filter(({ isRefused }) => !isRefused);
      if (order === undefined) return null;
      return { ...evidence, history: { ...history, orders: [...history.orders, { ...order }] } };
    }),
  },
  {
    what: "a redelivery to an endpoint that was deleted",
    fault: "a redelivery accepted although its endpoint was not there",
    plant: inOneTask((evidence) => {
      const { history } = evidence;
      const at = history.orders.findIndex(({ isRefused }) => !isRefused);
      const order = history.orders[at];
      if (order === undefined) return null;
      const orders = history.orders.with(at, { ...order, name: "deleted" });
      return { ...evidence, history: { ...history, orders } };
    }),
  },
  {
    what: "a redelivery that is refused although its endpoint is there",
    fault: "a redelivery refused although its endpoint was there",
    plant: (recording) => {
      const { history } =
        recording.evidence.find(({ history: { orders } }) => orders.length > 0) ?? {};
      const [order] = history?.orders ?? [];
      if (history === undefined || order === undefined) return null;
      const changed = withEndpoint(recording, endpointKey(history.plan.owner, order.name), []);
      const orders = [{ ...order, isRefused: true }];
      const inTask = inOneTask((each) =>
        each.history === history ? { ...each, history: { ...history, orders } } : null,
      );
      return changed === null ? null : inTask(changed);
    },
  },
  {
    what: "a task that is accepted although its endpoint does not exist",
    fault: "accepted although its endpoint was not there",
    plant: inOneTask((evidence) => {
      const { plan, registered } = evidence.history;
      if (registered?.isRefused !== false || plan.endpoint === null) return null;
      const history = { ...evidence.history, plan: { ...plan, endpoint: "deleted" } };
      return { ...evidence, history };
    }),
  },
  {
    what: "a task that is refused although its endpoint exists",
    fault: "refused although its endpoint was there",
    plant: inEndpointOf(({ history }) => history.registered?.isRefused === true, ["completed"]),
  },
  {
    what: "a refused task that was charged",
    fault: "not charged exactly once",
    plant: inOneTask((evidence) => {
      if (evidence.history.registered?.isRefused !== true) return null;
      const { id } = evidence.history.plan;
      const entry = { kind: "charge", amount: 1, balance: 1, reference: "planted", created_at: 1 };
      return { ...evidence, entries: [{ ...entry, task_id: id }] };
    }),
  },
  {
    what: "a task that shows the value of a header",
    fault: "a header of its endpoint is shown",
    plant: inOneTask((evidence) =>
      evidence.text === null ? null : { ...evidence, text: `${evidence.text}${TOKEN_START}1` },
    ),
  },
  {
    what: "a log line with the value of a header",
    fault: "the log shows a header of an endpoint",
    plant: (recording) => ({ ...recording, log: `${recording.log}\n${TOKEN_START}1\n` }),
  },
];
