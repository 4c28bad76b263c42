/** Hosts that a client may not name, and URLs with them; `PORT` stands for a port of the canary server. */
export const LOOPBACK: readonly string[] = urlsOf(`
  127.0.0.1 127.0.0.1. 127.1 127.0.1 127.0.0.2 127.255.255.254 2130706433 0x7f000001 0X7F.1
  0x7f.0x0.0x0.0x1 127.0x.0x.1 017700000001 0177.0.0.1 00000177.00.00.01
  １２７.０.０.１ １２７。０。０。１ 127｡0｡0｡1 ①②⑦.⓪.⓪.① %31%32%37.0.0.1 127%2e0%2E0%2e1
  %EF%BC%91%EF%BC%92%EF%BC%97.0.0.1 [::1] [0:0:0:0:0:0:0:1] [::0.0.0.1]
  [0000:0000:0000:0000:0000:0000:0000:0001] localhost LOCALHOST localhost. LOCALHOST. localhost%2e
  %6cocalhost ⓛⓞⓒⓐⓛⓗⓞⓢⓣ ｌｏｃａｌｈｏｓｔ local\u{ad}host local\u{200b}host localhost。
  foo.localhost a.b.LocalHost.`);

/** Spellings of the address of this machine that are refused also in development. */
export const UNSPECIFIED: readonly string[] = urlsOf(`
  localhost.localdomain 0.0.0.0 0 0x0 00000000000 0.0.0.0. ０.０.０.０ 0.0.0.1 [::]
  [0:0:0:0:0:0:0:0] [::ffff:127.0.0.1] [::FFFF:7f00:1] [::ffff:7f00:0001]
  [0:0:0:0:0:ffff:127.0.0.1] [::ffff:0.0.0.0] [::ffff:0:127.0.0.1] [::127.0.0.1]
  [64:ff9b::127.0.0.1] [64:ff9b::7f00:1] [64:ff9b:1::127.0.0.1] [2002:7f00:1::]
  [2002:7f00:0001:0:0:0:7f00:1] [2001:0:7f00:1::] localhost.. .localhost 127.0.0.1..`);

export const PRIVATE: readonly string[] = urlsOf(`
  router.lan git.corp wiki.intranet 10.0.0.1 10.255.255.255 0xa.1 012.0.0.1 167772161 172.16.0.1
  172.31.255.254 192.168.0.1 0xc0a80001 192.168.1 100.64.0.1 100.100.100.200 169.254.169.254
  2852039166 0xa9fea9fe 0251.0376.0251.0376 169.254.43518 [::ffff:169.254.169.254]
  [64:ff9b::a9fe:a9fe] [2002:a9fe:a9fe::] 192.0.0.192 198.18.0.1 224.0.0.1 239.255.255.255
  240.0.0.1 255.255.255.255 [fc00::1] [fd00:ec2::254] [fe80::1] [febf::1] [fec0::1] [ff02::1]
  [100::1] [2001:db8::1] metadata.google.internal METADATA.Google.Internal. host.docker.internal
  kubernetes.default.svc.cluster.local printer.local printer.local。 hidden.onion nas.home.arpa
  metadata instance-data intranet. 例え`);

/** URLs with credentials, malformed URLs, and other schemes. */
export const DISGUISED: readonly string[] = [
  ...words(`
    https://user@127.0.0.1:PORT/canary https://user:word@example.com/canary
    https://@127.0.0.1:PORT/canary https://example.com@127.0.0.1:PORT/canary
    https://example.com:443@127.0.0.1:PORT/canary https://127.0.0.1:PORT@example.com/canary
    https://example.com%40127.0.0.1:PORT@127.0.0.1:PORT/canary
    https:127.0.0.1:PORT/canary https:/127.0.0.1:PORT/canary https:///127.0.0.1:PORT/canary
    https:\\\\127.0.0.1:PORT\\canary https://127.0.0.1:PORT\\@example.com/canary
    https://127.0.0.1:PORT#@example.com/canary https://127.0.0.1:PORT?@example.com/canary
    https://[::1%25lo]:PORT/canary //127.0.0.1:PORT/canary /canary 127.0.0.1:PORT/canary
    http://127.0.0.1:PORT/canary HTTP://LOCALHOST:PORT/canary http://example.com/canary
    ws://127.0.0.1:PORT/canary wss://127.0.0.1:PORT/canary ftp://127.0.0.1:PORT/canary
    gopher://127.0.0.1:PORT/_canary file:///etc/passwd file://127.0.0.1/canary
    data:application/json,{} blob:https://127.0.0.1:PORT/canary
    javascript:fetch('http://127.0.0.1:PORT')`),
  "",
  " https://127.0.0.1:PORT/canary",
  "\u{0}https://127.0.0.1:PORT/canary",
  "ht\ttps://127.0.0.1:PORT/canary",
  "https://127.0.\n0.1:PORT/canary",
  "https://127.0.0.1:PORT/canary\r\nHost: example.com",
];

/** URLs of the relay itself, whose `PUBLIC_URL` is https://relay.example.com. */
export const ITSELF: readonly string[] = words(`
  https://relay.example.com/v1/events https://RELAY.Example.COM/v1/events
  https://relay.example.com./v1/events https://relay.example.com:8443/v1/events
  https://%72elay.example.com/v1/events https://ｒｅｌａｙ.example。com/v1/events`);

/** Base URLs whose host only resembles fal's. */
export const LIKE_FAL: readonly string[] = words(`
  http://queue.fal.run https://queue.fal.run:PORT https://queue.fal.run@127.0.0.1:PORT
  https://queue.fal.run.127.0.0.1.nip.example https://queue.fal.run.
  https://example.com/queue.fal.run https://queue-fal.run`);

function words(text: string): string[] {
  return text.trim().split(/[ \n]+/);
}

function urlsOf(hosts: string): string[] {
  return words(hosts).map((host) => `https://${host}:PORT/canary?token=planted-token`);
}
