import { expect, it } from "vitest";
import { failureOf } from "../../src/providers/failure.ts";

const SHOWN = { isGeneric: false, secrets: [] };

it.each([
  [{ code: "E7", text: "Out of memory." }, "Out of memory."],
  [{ code: "E7", text: null }, '"E7"'],
  [{ code: null, text: null }, 'The task ended upstream as "aborted".'],
  [null, 'The task ended upstream as "aborted".'],
  [{ code: "E7", text: " \n" }, "The upstream reported a failure."],
])(
  'the failure of a job in the state "aborted" with the provider\'s error %j is shown to clients with the message: %s',
  (error, message) => {
    expect(failureOf("aborted", error, SHOWN)).toEqual({
      status: "failed",
      error: { code: "upstream_error", message },
      failure: { category: "provider", retryable: true },
    });
  },
);

it.each([
  ["https://cdn.example.com/a.mp4", null, 'The task ended upstream as "aborted".'],
  [" https://a.example.com/1.png, https://a.example.com/2.png ", "E7", '"E7"'],
  ["cannot open https://a.example.com/1.png", "E7", "cannot open https://a.example.com/1.png"],
])(
  'a failure in the state "aborted" with the text %j and the code %j has the message %s: a text of nothing but links is left out',
  (text, code, message) => {
    expect(failureOf("aborted", { code, text }, SHOWN).error.message).toBe(message);
  },
);

it("a failure gets the default category that the provider's adapter names only if neither its code nor its text shows another category", () => {
  const usual = { code: "value_error", usualCategory: "invalid_input" } as const;
  const categories = ["too small", "the result was flagged"].map(
    (text) => failureOf("failed", { ...usual, text }, SHOWN).failure.category,
  );
  expect(categories).toEqual(["invalid_input", "moderation"]);
});

it.each([
  ["moderation", true],
  ["timeout", false],
] as const)(
  "a failure of the category %s is worth a retry exactly if the provider says so: %s",
  (category, isRetryable) => {
    const error = { code: null, text: "insufficient balance", category, isRetryable };
    expect(failureOf("failed", error, SHOWN).failure).toEqual({ category, retryable: isRetryable });
  },
);

it("with ERROR_TEXT=generic, the message of a failure is a fixed text, and the failure's category is the same as without", () => {
  const error = { code: "SensitiveContent", text: "a secret of the provider" };
  expect(failureOf("failed", error, { isGeneric: true, secrets: [] })).toEqual({
    status: "failed",
    error: { code: "upstream_error", message: "The upstream reported a failure." },
    failure: { category: "moderation", retryable: false },
  });
});

it("the message of a failure does not contain the credentials with which the relay calls the provider", () => {
  const errorText = { isGeneric: false, secrets: ["r8-abc", "r8-abc-longer", ""] };
  const error = { code: null, text: "no access with r8-abc-longer, nor r8-abc" };
  expect(failureOf("failed", error, errorText).error.message).toBe("no access with …, nor …");
});

it.each([
  ["failed", "OutputVideoSensitiveContentDetected", null, "moderation", false],
  ["failed", null, "Flagged by our content policy", "moderation", false],
  ["failed", null, "NSFW content detected", "moderation", false],
  ["failed", "SAFETY.INPUT.TEXT", null, "moderation", false],
  ["failed", "CreationPolicyViolation", null, "moderation", false],
  ["failed", "TooManyRequests", null, "rate_limited", true],
  ["failed", "QuotaExceeded", null, "provider", true],
  ["failed", null, "Incorrect API key provided", "provider", true],
  ["failed", "InvalidApiKey", null, "provider", true],
  ["failed", null, "The API key is not valid", "provider", true],
  ["failed", null, "无效的令牌", "provider", true],
  ["failed", null, "invalid image key in the input", "invalid_input", false],
  ["failed", null, "quota exceeded", "provider", true],
  ["failed", null, "配额已超出", "provider", true],
  ["failed", null, "할당량을 넘었습니다", "provider", true],
  ["failed", null, "クォータを超えました", "provider", true],
  ["failed", null, "Quota exceeded: too many requests per minute", "rate_limited", true],
  ["failed", null, "HTTP 429", "rate_limited", true],
  ["failed", "generation_timeout", null, "timeout", true],
  ["failed", null, "The request timed out", "timeout", true],
  ["expired", null, null, "timeout", true],
  ["canceled", null, null, "canceled", false],
  ["CANCELLED", null, null, "canceled", false],
  ["failed", "InvalidParameter", null, "invalid_input", false],
  ["failed", null, "Unsupported image format", "invalid_input", false],
  ["failed", "InternalServerError", null, "provider", true],
  ["aborted", null, null, "provider", true],
  ["failed", "CreditInsufficient", null, "provider", false],
  ["failed", null, "insufficient balance", "provider", false],
  ["failed", null, "User is locked. Reason: Exhausted balance.", "provider", false],
  ["failed", null, "The account is out of credits", "provider", false],
  ["failed", "budget_exhausted", null, "provider", false],
  ["failed", "UPSTREAM_CONTENT_FILTERED", "try again later", "moderation", false],
  ["failed", "UnsafeOutput", "the request timed out", "moderation", false],
  ["failed", "RateLimitExceeded", "the request was canceled", "rate_limited", true],
  ["expired", "generate_failed", "the prompt is prohibited", "moderation", false],
  ["failed", null, "图片包含敏感内容，请修改", "moderation", false],
  ["failed", null, "提示詞未通過審核", "moderation", false],
  ["failed", null, "入力に不適切な表現が含まれています", "moderation", false],
  ["failed", null, "콘텐츠 정책을 위반했습니다. 저작권 보호 대상입니다", "moderation", false],
  ["failed", null, "账户余额不足，请先充值", "provider", false],
  ["failed", null, "用户额度不足", "provider", false],
  ["failed", "insufficient_user_quota", null, "provider", false],
  ["failed", null, "クレジットが不足しています", "provider", false],
  ["failed", null, "크레딧이 부족합니다", "provider", false],
  ["failed", null, "当前排队人数过多，请稍后", "rate_limited", true],
  ["failed", null, "サーバーが混み合っています", "rate_limited", true],
  ["failed", null, "서버 과부하 상태입니다", "rate_limited", true],
  ["failed", null, "The model is overloaded", "rate_limited", true],
  ["failed", null, "生成超时，请重试", "timeout", true],
  ["failed", null, "処理がタイムアウトしました", "timeout", true],
  ["failed", null, "작업 시간 초과", "timeout", true],
  ["failed", null, "任务已取消", "canceled", false],
  ["failed", null, "ユーザーがキャンセルしました", "canceled", false],
  ["failed", null, "时长参数错误", "invalid_input", false],
  ["failed", null, "이 형식은 지원되지 않습니다", "invalid_input", false],
  ["failed", null, "GPU memory fault: invalid address", "provider", true],
  ["failed", "torch.cuda.OutOfMemoryError", "invalid size", "provider", true],
  ["failed", "InternalError", "unsupported operation in step 3", "provider", true],
  ["failed", null, "TypeError: invalid keyword", "provider", true],
  ["failed", null, "参考图链接已过期", "invalid_input", false],
  ["failed", null, "The URL of the first frame has expired.", "invalid_input", false],
  ["failed", null, "https://files.example.com/a.png has expired", "invalid_input", false],
  ["failed", null, "The job has expired. See https://docs.example.com/jobs", "timeout", true],
  ["failed", null, "could not store https://cdn.example.com/safety/timeout.mp4", "provider", true],
  ["failed", null, "request rejected by the model", "invalid_input", false],
  ["failed", null, "This violates our usage policies", "moderation", false],
  ["failed", null, "It may violate our guardrails on similarity to others", "moderation", false],
  ["failed", null, "Banned prompt detected", "moderation", false],
  ["failed", null, "The request was blocked", "moderation", false],
  ["failed", null, "输入内容违法", "moderation", false],
  ["failed", null, "利用ガイドラインに反する画像です", "moderation", false],
  ["failed", null, "금지된 단어가 포함되어 있습니다", "moderation", false],
  ["failed", "AccountOverdueError", null, "provider", false],
  ["failed", "billing_hard_limit_reached", null, "provider", false],
  ["failed", null, "Please top up your account", "provider", false],
  ["failed", null, "资源包已耗尽", "provider", false],
  ["failed", "RESOURCE_EXHAUSTED", null, "rate_limited", true],
  ["failed", null, "No available GPUs, high demand", "rate_limited", true],
  ["failed", null, "当前为高峰期，算力不足", "rate_limited", true],
  ["failed", null, "アクセスが集中しています", "rate_limited", true],
  ["failed", null, "The generation took too long", "timeout", true],
  ["failed", null, "exceeded the maximum processing time", "timeout", true],
  ["failed", null, "任务耗时过长", "timeout", true],
  ["failed", null, "interrupted by the user", "canceled", false],
  ["failed", null, "stopped by the user", "canceled", false],
  ["failed", null, "RuntimeError: invalid tensor size", "provider", true],
  ["failed", null, "worker exited: invalid state", "provider", true],
  ["failed", null, "connection reset, invalid response", "provider", true],
  ["failed", null, "The input file has expired", "invalid_input", false],
  ["failed", null, "Failed to download the image", "invalid_input", false],
  ["failed", null, "cannot fetch audio", "invalid_input", false],
  ["failed", "FILE_DOWNLOAD_FAILED", "no", "invalid_input", false],
  ["failed", "ImageDownloadFailure", null, "invalid_input", false],
  ["failed", "MODEL_DOWNLOAD_FAILED", "no", "provider", true],
  ["failed", "model_file_download_failed", "no", "provider", true],
  ["failed", "generation_audio_length_exceeded", "no", "invalid_input", false],
  ["failed", "generation_plan_duration_exceeded", "no", "invalid_input", false],
  ["failed", "file_size_exceeds_plan_limit", "no", "invalid_input", false],
  ["failed", "generation_input_too_many_visual", "no", "invalid_input", false],
  ["failed", "image_too_small", "no", "invalid_input", false],
  ["failed", null, "The audio exceeds the maximum allowed length", "invalid_input", false],
  ["failed", null, "The generated video is too large", "provider", true],
  ["failed", null, "The audio is too long, which is no time limit", "invalid_input", false],
  ["failed", "queue_length_exceeded", "no", "rate_limited", true],
  ["failed", "TooManyTasks", "no", "rate_limited", true],
  ["failed", "max_duration_exceeded", "no", "provider", true],
  ["failed", "generation_media_metadata_missing", "no", "invalid_input", false],
  ["failed", "output_video_missing", "no", "provider", true],
  ["failed", null, "No audio file was provided in the request.", "invalid_input", false],
  ["failed", "generation_input_asset_type_mismatch", "no", "invalid_input", false],
] as const)(
  "a failure with the state %s, the code %j and the text %j gets the category %s and retryable: %s",
  (state, code, text, category, retryable) => {
    expect(failureOf(state, { code, text }, SHOWN).failure).toEqual({ category, retryable });
  },
);

it("a failure has the category that the provider's adapter sets, even if its text suggests another", () => {
  const error = { code: null, text: "invalid status", category: "provider" } as const;
  expect(failureOf("failed", error, SHOWN).failure.category).toBe("provider");
});
