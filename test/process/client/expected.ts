/** The values that `drive` in scenario.ts returns on every runtime. */
export const EXPECTED = {
  states: ["pending"],
  reported: "completed",
  ended: ["https://cdn.example.com/a.mp4"],
  verified: ["completed", "completed"],
  forged: "no_matching_signature",
  cut: "no_matching_signature",
  submitted: [200, '{"id":"sandbox/ok","status":"queued"}'],
  submittedTask: "sandbox/ok",
  submittedBySdk: [200, '{"id":"sandbox/ok","status":"queued"}'],
  generated: [true, ["https://cdn.example.com/a.mp4"]],
  redelivered: "sending",
  erased: [true, false],
  listed: true,
  unknown: "unknown_task",
  timedOut: "WaitTimeoutError",
};
