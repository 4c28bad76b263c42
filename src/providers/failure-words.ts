import type { FailureCategory } from "../core/record/upstream.ts";

/** The texts with which an upstream says that a job has failed. */
export interface FailureTexts {
  readonly state: string;
  /** Error code; empty when the upstream states none. The same applies to `text`, the error text. */
  readonly code: string;
  readonly text: string;
}

/** A category of failures, and the function that tells whether the words of a failure show this category. */
type Sign = readonly [FailureCategory, (words: string) => boolean];

/**
 * Patterns of the words with which upstreams say that moderation has refused to generate or to deliver some content.
 */
const MODERATION: readonly RegExp[] = [
  /sensitive|moderat|polic(y|ies).?violat|content.?polic|nsfw|safety|unsafe|inappropriate|prohibited|risk.?control|copyright|flagged/i,
  /(usage|community|content|safety|service|our|its).?(security.?)?(guideline|standard|polic|rules)|terms.?of.?(use|service)/i,
  /guardrail|responsible.?ai|\brai\b/i,
  /content.?(is.?|was.?|has.?been.?)?(filter|block|reject|refus|restrict)|(banned|forbidden|blocked|blacklisted).?(prompt|word|term|content|image)/i,
  /(prompt|image|video|request|input|output|generation|result).?(was.?|is.?|has.?been.?)?blocked|(public|real|celebrity).?(figure|person|people|likeness)/i,
  /\b(sexual|nudity|nude|porn\w{0,9}|gore|hateful|child abuse|self.?harm)\b/i,
  /(content|security|safety).?(security.?)?(audit|verification|inspection|review|check)/i,
  /审核|审查|敏感|违规|违禁|违反|违法|风控|内容(安全|非法|不合法|不当)|不合规|安全(检查|检测|协议|策略|政策)|色情|涉黄|涉政|低俗|血腥|暴力|侵权|版权|肖像|真人/,
  /審核|審查|違規|違禁|違反|違法|風控|內容安全|不當內容|侵權|版權/,
  /不適切|ポリシー|ガイドライン|センシティブ|モデレーション|コンテンツ審査|著作権|安全(フィルタ|性|基準)|有害な|わいせつ|性的|暴力的|禁止され/,
  /정책(을|에)? ?위반|정책에 (의해|따라)|가이드라인|부적절|민감한|유해|선정적|음란|폭력적|금지된|검열|검수|저작권|안전 ?(필터|기준)/,
];

/**
 * Patterns of the words with which upstreams say that an account there has no credit left. A retry does not help then.
 */
const UNPAID: readonly RegExp[] = [
  /(insufficient|not.?enough|out.?of|exhausted|\bno).?(account.?|user.?)?(credit|balance|fund|budget|point|coin)/i,
  /(credit|balance|fund|budget|point|coin|resource.?pack)s?.?(is.?|are.?|has.?been.?)?(insufficient|not.?enough|exhausted|depleted|used.?up)/i,
  /insufficient.?(user.?)?quota|payment.?required|\bstatus(.?code)?:? ?402\b|\barrear(age|s)\b|good.?standing|overdue|billing.?(hard.?)?limit|spend(ing)?.?limit|\b(recharge|top.?up)\b/i,
  /(余额|额度|积分|点数|资源包|餘額|額度|積分|點數)(已)?(不足|不够|不夠|耗尽|耗盡|用完|用尽)|欠费|欠費|请充值|請儲值/,
  /(残高|クレジット|ポイント)(が|は)?(不足|足り|ありません)/,
  /(잔액|잔고|크레딧|포인트)(이|가)? ?(부족|없|소진)/,
];

/**
 * Patterns of the words with which upstreams say that the size or length of an input is beyond a limit, or that of an
 * output is beyond the one that the call states. Limits of the rate of requests and of the time of jobs are not meant.
 */
const OUT_OF_LIMITS: readonly RegExp[] = [
  /\b(audio|video|image|file|text|prompt|script|input|media|clip|sample|context|model|plan|dubbing|max|maximum).?(length|size|resolution).?(limit.?)?(is.?|was.?)?(exceed|too.?(long|large|big|high|short|small|low)|(greater|less|longer|shorter|larger|smaller).?than)/i,
  /\b(audio|video|file|input|media|clip|sample|model|plan|dubbing).?duration.?(limit.?)?(is.?|was.?)?(exceed|too.?(long|short)|(greater|less|longer|shorter).?than)/i,
  /(?<!(output|result|generated).?)\b(audio|video|image|file|text|prompt|script|input|media|clip|sample|source).?(is.?|are.?|was.?)?too.?(long|large|big|short|small)\b/i,
  /^max (output )?tokens$/i,
  /too.?many.?(visuals?|faces|people|characters|words|pixels|frames|(input|reference).?(image|video|audio|file)s?)\b/i,
  /exceed(s|ed|ing)? (the |your )?((max|maximum|allowed|permitted|supported) ){0,3}(file )?(length|size|resolution|dimensions)\b/i,
];

/**
 * Patterns of the words with which upstreams say that they accept no more jobs at the moment. The word "quota" is not
 * among them, because it can also stand for money that is used up.
 */
const LIMITED: readonly RegExp[] = [
  /rate.?limit|too.?many|throttl|\b429\b|overload|\b(is|are|too|currently).?busy|server.?busy|at.?capacity|queue.?(is.?)?full|concurren(t|cy)/i,
  /resource.?exhausted|high.?(demand|load|traffic)|(insufficient|no|out.?of|lack.?of).?(available.?|free.?)?(capacity|slots?|gpus?|runners?|machines?|instances?)\b/i,
  /queue.?(is.?)?(length|limit|overflow|too.?long)/i,
  /限流|频率|频繁|并发|排队|队列|过载|繁忙|拥堵|高峰|请求过多|请求数过多|(资源|算力)(不足|紧张)|負載過高|頻率|頻繁|排隊|壅塞/,
  /混雑|混み合|過負荷|高負荷|アクセスが?集中|レート(制限|リミット)|(リクエスト|要求)が多すぎ|同時(実行|接続)|順番待ち|キュー/,
  /혼잡|과부하|요청이 ?너무|요청 ?(한도|제한|횟수)|사용량 ?(한도|초과|제한)|동시 ?(요청|실행)|대기열/,
];

/** Patterns of the words with which upstreams say that a job took too long. */
const TIMED_OUT: readonly RegExp[] = [
  /time(d)?.?out|deadline.?exceeded|\b(took|taken|takes|taking).?too.?long|(time|runtime).?limit.?(was.?)?(exceeded|reached)/i,
  /(max|maximum|allowed).?(execution|processing|run|generation|inference).?time|(execution|processing|generation|inference).?time.?(limit|exceeded)/i,
  /超时|超時|逾时|逾時|(耗时|时间)过长|タイムアウト|時間切れ|制限時間|時間がかかりすぎ|시간 ?초과|타임아웃|시간이 ?(초과|너무)/,
];

const CANCELED =
  /cancell?ed|(abort|stopp|terminat|interrupt)\w{0,4} by (the )?(user|client)|取消|キャンセル|취소/i;

const EXPIRED = /expired|过期|過期|期限切れ|만료/i;
const LINK = /\b(link|ur[il]|file)s?\b|链接|鏈接|連結|网址|網址|リンク|링크|주소/i;

/** Pattern of the links in a text. A link ends at the first Chinese character, because no space follows it there. */
const LINKS = /https?:\/\/[!-~]+/gi;

/**
 * Patterns of the words with which upstreams report a fault of a device or another fault inside the upstream. Such
 * texts often also contain a word such as "invalid".
 */
const INSIDE: readonly RegExp[] = [
  /\b(cuda|cudnn|cublas|nccl|rocm|vram|oom)\b|\bgpu.?(error|fault|memory)|out.?of.?memory|device.?side|illegal.?memory/i,
  /internal.?(server.?|service.?|system.?)?(error|fail|fault)|server.?error|service.?(is.?)?(temporarily.?)?unavailable|bad.?gateway/i,
  /worker.?(has.?)?(exited|crashed|died)|\bcrash(ed)?\b|segmentation.?fault|\bsig(kill|segv|abrt)\b|no.?space.?left|connection.?(reset|refused|lost|aborted)|\beconn/i,
  /\b(Type|Attribute|Key|Index|Name|Import|Assertion|Runtime|Memory) ?Error\b|[Tt]raceback|[Nn]ull ?[Pp]ointer|positional argument/,
  /显存|内存不足|顯存|記憶體不足|(内部|系统|服务|服务器|內部|系統|伺服器)(出现)?(错误|异常|故障|錯誤|異常)/,
  /メモリ(が)?不足|(内部|サーバー?|システム)(で)?(の)?エラー|메모리 ?부족|(내부|서버|시스템) ?오류/,
];

/** Patterns of the words with which upstreams say that a request was refused because of its key. */
const KEY_REFUSED: readonly RegExp[] = [
  /unauthori[sz]ed|unauthenticated|authenticat|forbidden|(permission|access).?denied|(api|access|secret).?key/i,
  /(invalid|incorrect|wrong|missing|expired|revoked).?(token|credential|signature)|\b40[13]\b/i,
  /未授权|未登录|鉴权|认证失败|无权|密钥|令牌|未授權|無權|金鑰|認証|権限がありません|인증|권한이 ?없/,
];

/**
 * Patterns of the words with which upstreams say that they do not serve a request, because too many requests came, a
 * service is out of order, or the job is not found.
 */
const UNANSWERED: readonly RegExp[] = [
  /rate.?limit|too.?many.?(requests|calls)|throttl|\b(429|50[234])\b/i,
  /service.?(is.?)?(temporarily.?)?unavailable|maintenance|bad.?gateway|gateway.?time/i,
  /(task|job|request|video|record|id).?(was.?|is.?)?not.?(found|exist)|does.?not.?exist|no.?such|\bunknown.?(task|job|request)/i,
  /限流|过于频繁|服务不可用|维护中|不存在|過於頻繁|維護中|メンテナンス|見つかりません|점검|찾을 ?수 ?없/,
];

/**
 * Patterns of the words with which upstreams refuse a key. The same text often contains a word such as "invalid", which
 * would look like a fault of the client's input, although the key is the operator's.
 */
const WRONG_KEY: readonly RegExp[] = [
  /(invalid|incorrect|wrong|missing|expired|revoked).?(api.?|access.?|secret.?)(key|token)\b/i,
  /\b(api|access|secret).?(key|token).?(is.?|was.?|has.?)?(not.?valid|invalid|incorrect|expired|revoked|disabled|missing)/i,
  /(密钥|令牌|金鑰)(已)?(无效|無效|错误|錯誤|过期|過期|失效)|(无效|無效|错误|錯誤)的?(密钥|令牌|金鑰)/,
];

/** Patterns of the words with which upstreams say that they cannot use a request or an input. */
const INVALID: readonly RegExp[] = [
  /invalid|unsupported|not.?supported|validation|malformed|\b422\b|bad.?request|inaccessible|(prompt|input|request).?(was.?|is.?)?(rejected|refused)|(?<!index.?)out.?of.?range|\bfield.?(is.?)?(lacking|missing)|\b(lacking|missing).?(required.?)?(field|param)/i,
  /((fail(ed|ure)?|unable) to|cannot|can't|could not) (download|fetch|access|decode) (the |your |an? )?(input|image|video|audio|file|media|ur[il])/i,
  /(?<!(model|weights?|checkpoint|output|result).?)\b(file|image|video|audio|media|input).?download.?(fail|error)/i,
  /(?<!(output|result|generated).?)\b(audio|video|image|media|metadata|prompt|input|text|file).?missing$/i,
  /\bno (audio|video|image|prompt|input|text|file)( file| ur[il])? (was |were |is )?(provided|given|specified|supplied)\b/i,
  /\b(asset|file|media|format).?type.?mismatch|\b(audio|video|image|input|param(eter)?)s?.?conflict/i,
  /参数(错误|有误|异常)|參數(錯誤|有誤)|无效|無效|不支持|不支援|不合法|非法|格式(错误|有误|不正确|不正確|錯誤)/,
  /無効|不正な|サポートされて|サポートして|対応していない|対応していません|잘못된|유효하지|지원하지|지원되지|올바르지/,
];

/**
 * Categories that name the cause of a failure, each with the function that recognises it. The functions examine the
 * error code first, then the text, and then the state.
 */
const CAUSES: readonly Sign[] = [
  ["moderation", hasOne(MODERATION)],
  ["provider", hasOne(UNPAID)],
  ["invalid_input", hasOne(OUT_OF_LIMITS)],
  ["rate_limited", hasOne(LIMITED)],
  ["invalid_input", namesExpiredLink],
  ["timeout", hasOne([...TIMED_OUT, EXPIRED])],
  ["canceled", hasOne([CANCELED])],
];

/**
 * Categories that say only whose fault a failure is, each with the function that recognises it. They are used when no
 * cause is found.
 */
const FAULTS: readonly Sign[] = [
  ["provider", hasOne([...INSIDE, ...WRONG_KEY])],
  ["invalid_input", hasOne(INVALID)],
];

/** Returns the category of a failure that the upstream's texts show. Null when they show none. */
export function categoryIn({ state, code, text }: FailureTexts): FailureCategory | null {
  const parts = [wordsOfCode(code), wordsOfText(text), wordsOfCode(state)];
  const cause = parts.map(causeIn).find((category) => category !== undefined);
  return cause ?? FAULTS.find(([, shows]) => parts.some(shows))?.[0] ?? null;
}

function causeIn(words: string): FailureCategory | undefined {
  return CAUSES.find(([, shows]) => shows(words))?.[0];
}

/** Tells whether an upstream's texts say that the account there has no credit left. */
export function isUnpaid({ code, text }: FailureTexts): boolean {
  return [wordsOfCode(code), wordsOfText(text)].some(hasOne(UNPAID));
}

/**
 * Tells whether an error is about the API key of a request and not about a job. The error code decides; when there is
 * none, the text decides.
 */
export function isAboutKey({ code, text }: Omit<FailureTexts, "state">): boolean {
  return hasOne(KEY_REFUSED)(code === "" ? wordsOfText(text) : wordsOfCode(code));
}

/**
 * Tells whether an error is about a request (its key, the number of requests, the service) and not about a job. The
 * error code decides; when there is none, the text decides.
 */
export function isAboutRequest({ code, text }: Omit<FailureTexts, "state">): boolean {
  return hasOne([...KEY_REFUSED, ...UNANSWERED])(
    code === "" ? wordsOfText(text) : wordsOfCode(code),
  );
}

/** Tells whether a text consists only of links and punctuation. */
export function isOnlyLinks(text: string): boolean {
  return /:\/\//.test(text) && !/[\p{L}\p{N}]/u.test(text.replace(LINKS, ""));
}

/**
 * Returns a text with the word "link" in place of each link, because the words in an address say nothing about a
 * failure.
 */
function wordsOfText(text: string): string {
  return text.replace(LINKS, " link ");
}

/** Returns the words of a code, e.g. `Content Filtered` for `ContentFiltered`, `content filtered` for `content_filtered`. */
function wordsOfCode(code: string): string {
  return code.replace(/(?<=[a-z\d])(?=[A-Z])|[_.:/-]/g, " ");
}

/** Tells whether a sentence says that a link has expired. In this case the upstream could not read the input. */
function namesExpiredLink(words: string): boolean {
  return words
    .split(/[.;!?。；！？\n]/)
    .some((part) => (EXPIRED.test(part) || part.includes("失效")) && LINK.test(part));
}

function hasOne(patterns: readonly RegExp[]): (words: string) => boolean {
  return (words) => patterns.some((pattern) => pattern.test(words));
}
