import { describe, expect, it } from "vitest";
import { checkCallbackUrl, IP_REFUSAL, type UrlRules } from "../../src/security/url-rules.ts";

const production = { allowLocal: false, allowIp: false, ownOrigin: "https://relay.example.com" };
const international = { ...production, ownOrigin: "https://bücher.example.com:8443" };
const local = { ...production, allowLocal: true };
const development = { ...local, ownOrigin: "http://localhost:8787" };

type Rows = Readonly<Record<string, string>>;

function refuses(rules: UrlRules, reason: string, rows: Rows) {
  it.each(Object.entries(rows))(
    `a callback URL with %s is refused with the message that it ${reason}`,
    (_what, text) => {
      expect(checkCallbackUrl(text, rules)).toEqual({ ok: false, error: reason });
    },
  );
}

function accepts(rules: UrlRules, where: string, rows: Rows) {
  it.each(Object.entries(rows))(`a callback URL is accepted with %s${where}`, (_what, text) => {
    expect(checkCallbackUrl(text, rules)).toEqual({ ok: true, value: new URL(text) });
  });
}

const pathOf = (start: string, chars: number) => start + "a".repeat(chars - start.length);

describe("checkCallbackUrl", () => {
  refuses(production, "must be a valid absolute URL", {
    "no character at all": "",
    "a host but no scheme (example.com/callback)": "example.com/callback",
    "a scheme but no host (https://)": "https://",
    "a port that is too large": "https://example.com:65536/",
    "a space in the host": "https://exa mple.com/",
    "an IPv6 address that names a zone (%25eth0)": "https://[fe80::1%25eth0]/",
    "a full-width @ in the host name": "https://user＠example.com/",
    "an IPv4 part above 255": "https://127.0.0.256/",
    "a host name whose last part is a number (example.0x7f)": "https://example.0x7f/",
    "a host name of 513 characters": `https://${"a.".repeat(254)}com.a`,
    "a line break and a backslash before a host name of 513 characters": `https:/\n\\${"a.".repeat(254)}com.a`,
  });

  refuses(production, "must use https:", {
    "the scheme http:": "http://example.com/callback",
    "the scheme file:": "file:///etc/passwd",
    "the scheme data:": "data:application/json,{}",
    "the scheme javascript:": "javascript:alert(1)",
    "the scheme blob: before an https: URL": "blob:https://example.com/1",
    "a host and port that read as a scheme": "example.com:443/callback",
  });

  refuses(
    production,
    "must not contain control characters, lone surrogates or surrounding whitespace",
    {
      "a leading space": " https://example.com/",
      "a trailing space": "https://example.com/ ",
      "a trailing newline": "https://example.com/\n",
      "a trailing no-break space": "https://example.com/\u{a0}",
      "a tab in the scheme": "ht\ttps://example.com/",
      "a newline in the host": "https://exam\nple.com/",
      "a carriage return in the path": "https://example.com/a\r\nX-Header: 1",
      "a leading NUL": "\u{0}https://example.com/",
      "a C1 control character in the query": "https://example.com/?\u{85}a",
      "half of a surrogate pair in the path": "https://example.com/\ud83d",
    },
  );

  refuses(production, "must not contain a user name or password", {
    "a user name": "https://user@example.com/",
    "a user name and a password": "https://user:secret@example.com/",
    "a password alone": "https://:secret@example.com/",
    "an empty user name": "https://@example.com/",
    "an empty user name and password": "https://:@example.com/",
    "a trusted host as user name": "https://example.com@evil.example.net/",
    "a trusted host and port as user name": "https://example.com:443@evil.example.net/",
    "an empty user name after one slash": "https:/@example.com/",
    "an empty user name after backslashes": "https:\\\\@example.com/",
    "an empty user name after an upper-case scheme": "HTTPS://@example.com/",
  });

  refuses(production, "must be at most 2048 characters long, also when normalised", {
    "2049 characters": pathOf("https://example.com/", 2049),
    "400 letters é (too long only when they are percent-encoded)": `https://example.com/${"é".repeat(400)}`,
    "2048 slashes after the scheme (too long only until it is normalised)": `https:${"/".repeat(2048)}example.com`,
  });

  refuses(production, "must not use an IP address that is not public", {
    "the loopback address": "https://127.0.0.1/",
    "the loopback address with a final dot": "https://127.0.0.1./",
    "the loopback address as one decimal": "https://2130706433/",
    "the loopback address in hexadecimal parts": "https://0x7F.0x0.0X0.0x1/",
    "the loopback address in full-width digits and dots": "https://１２７。０．０｡１/",
    "the loopback address in circled digits": "https://①②⑦.⓪.⓪.①/",
    "the loopback address in percent-encoding": "https://%31%32%37%2e0.0.1/",
    "the address 0.0.0.0": "https://0.0.0.0/",
    "a private address in 172.16/12": "https://172.31.255.254/",
    "an address for carrier-grade NAT (100.64.0.1)": "https://100.64.0.1/",
    "the cloud metadata address": "https://169.254.169.254/latest/meta-data/",
    "the broadcast address (255.255.255.255)": "https://255.255.255.255/",
    "the IPv6 loopback address": "https://[::1]/",
    "the unspecified IPv6 address (::)": "https://[::]/",
    "the loopback address mapped to IPv6 (::ffff:127.0.0.1)": "https://[::ffff:127.0.0.1]/",
    "a public IPv4 address in the IPv6 form ::ffff:8.8.8.8": "https://[::ffff:8.8.8.8]/",
    "the loopback address translated to IPv6 (::ffff:0:127.0.0.1)": "https://[::ffff:0:127.0.0.1]/",
    "a private address in the NAT64 range of IPv6": "https://[64:ff9b::10.0.0.1]/",
    "the loopback address in the 6to4 range of IPv6": "https://[2002:7f00:1::]/",
    "a unique local IPv6 address": "https://[fd00:ec2::254]/",
    "a link-local IPv6 address": "https://[fe80::1]/",
    "an IPv6 address outside of the assigned range": "https://[4000::1]/",
  });

  refuses(production, "must not use a local or private host name", {
    "the host localhost": "https://localhost/",
    "localhost in upper case": "https://LOCALHOST/",
    "localhost with a final dot": "https://localhost./",
    "localhost with an encoded final dot": "https://localhost%2e/",
    "localhost in circled letters": "https://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/",
    "localhost with a soft hyphen": "https://local\u{ad}host/",
    "a host name under .localhost": "https://app.localhost:3000/",
    "a host name under .local": "https://printer.local/",
    "a host name under .local with an ideographic final dot": "https://printer.LOCAL。/",
    "a host name under .local with a zero-width space": "https://printer.lo\u{200b}cal/",
    "a host name under .internal": "https://metadata.google.internal/",
    "a host name under .onion": "https://hidden.onion/",
    "a host name under .localdomain": "https://localhost.localdomain/",
    ...Object.fromEntries(
      ["intranet", "private", "corp", "home", "lan", "arpa"].map((zone) => [
        `a host name under .${zone}`,
        `https://nas.office.${zone}/`,
      ]),
    ),
  });

  refuses(production, "must use a fully qualified host name", {
    "a host name without a dot": "https://backoffice/",
    "a host name whose only dot is the final one": "https://backoffice./",
    "an international host name without a dot": "https://例え/",
  });

  refuses(production, "must not have an empty label in the host name", {
    "two dots at the end of the host name": "https://example.com../",
    "two final dots after an IP address": "https://127.0.0.1../",
    "two final dots behind localhost": "https://localhost../",
    "a leading dot": "https://.example.com/",
  });

  refuses(
    production,
    "must not have a host name of more than 253 characters, or 63 between two dots",
    {
      "64 characters between two dots": `https://${"a".repeat(64)}.example.com/`,
      "a host name of 254 characters": `https://${"ab.".repeat(81)}example.com/`,
      "an international name that is longer as the DNS has it": `https://${"İ".repeat(40)}.com/`,
    },
  );

  refuses(production, "must not point at the relay itself", {
    "the relay's origin": "https://relay.example.com/v1/events",
    "the relay's origin in upper case and with a final dot": "https://RELAY.Example.com./",
    "the relay's origin, percent-encoded": "https://%72elay.example.com/",
    "another port of the relay's host": "https://relay.example.com:8443/",
  });

  refuses(international, "must not point at the relay itself", {
    "the relay's international origin, in Punycode": "https://xn--bcher-kva.example.com/",
  });

  accepts(production, "", {
    "a host name alone": "https://example.com",
    "a path and a query": "https://example.com/callbacks/1?token=abc&x=%20",
    "a port": "https://example.com:8443/callback",
    "a fragment": "https://example.com/callback#part",
    "a final dot after the host name": "https://example.com./callback",
    "an upper-case scheme and host": "HTTPS://Example.COM/Callback",
    "an @ in the path": "https://example.com/@user/callback",
    "an @ in the query": "https://example.com?notify=user@example.net",
    "an @ in the fragment": "https://example.com/#user@host",
    "an @ after a backslash, which begins the path": "https://example.com\\@evil.example.net/",
    "a host name under the relay's host name": "https://receiver.relay.example.com/",
    "a host name that ends like the relay's": "https://otherrelay.example.com/",
    "a host name that only begins with localhost": "https://localhost.example.com/",
    "a host name (.notlocal) that only ends in the letters local": "https://example.notlocal/",
    "a host name that contains an IP address": "https://127.0.0.1.example.com/",
    "an underscore in the host name": "https://my_app.example.com/",
    "an international host name": "https://例え.jp/コールバック",
    "exactly 2048 characters": pathOf("https://example.com/", 2048),
  });
});

describe("checkCallbackUrl with public IP addresses", () => {
  const addresses: Rows = {
    "a public IPv4 address": "https://8.8.8.8/callback",
    "a public IPv4 address in hexadecimal, with a final dot": "https://0x8.0x8.0x808./",
    "the first public address after the private range 172.16/12": "https://172.32.0.0/",
    "a public IPv6 address": "https://[2606:4700:4700::1111]/callback",
  };
  const withIp = { ...production, allowIp: true };
  accepts(withIp, ", where ALLOW_IP_CALLBACKS is set", addresses);
  refuses(production, IP_REFUSAL, addresses);
  refuses(development, IP_REFUSAL, addresses);
  refuses(withIp, "must not use an IP address that is not public", {
    "the cloud metadata address": "https://169.254.169.254/latest/meta-data/",
  });
});

describe("checkCallbackUrl with local callbacks", () => {
  const onPort80 = { ...local, ownOrigin: "http://localhost" };
  accepts(development, ", where callbacks to the local host are allowed", {
    "the scheme http:": "http://example.com/callback",
    "the scheme https:": "https://example.com/callback",
    "the host localhost": "http://localhost:9000/callback",
    "localhost with a final dot": "http://localhost.:9000/callback",
    "a host name under .localhost": "https://app.localhost/callback",
    "the IPv4 loopback address and another port than the relay's": "http://127.0.0.1:9000/x",
    "IPv4 loopback as one decimal": "http://2130706433:9000/x",
    "IPv6 loopback": "http://[::1]:9000/x",
    "the relay's port on another host": "http://example.com:8787/",
  });

  refuses(development, "must not point at the relay itself", {
    "the relay's origin": "http://localhost:8787/v1/events",
    "the relay's port over https:": "https://localhost:8787/",
    "the relay's IPv4 address": "http://127.0.0.1:8787/x",
    "the relay's IPv4 address as one hexadecimal": "http://0x7f000001:8787/x",
    "the relay's port on another loopback address (127.8.8.8)": "http://127.8.8.8:8787/",
    "the relay's IPv6 address": "http://[::1]:8787/",
    "a host name under .localhost and the relay's port": "http://relay.localhost.:8787/",
  });

  refuses(onPort80, "must not point at the relay itself", {
    "the relay's default port, written out": "http://127.0.0.1:80/",
    "the scheme https: and the relay's port 80": "https://[::1]:80/",
  });

  accepts(onPort80, ", where local callbacks are allowed", {
    "the relay's host localhost, but port 443, not the relay's port 80": "https://localhost/x",
  });
  refuses(local, "must not point at the relay itself", {
    "any port of the relay's public host": "http://relay.example.com:9000/",
  });

  refuses(development, "must use https: or http:", { "the scheme ftp:": "ftp://localhost/" });

  refuses(development, "must not contain a user name or password", {
    "an empty user name": "http://@localhost:9000/",
  });

  refuses(development, "must not use an IP address that is not public", {
    "the address 0.0.0.0": "http://0.0.0.0:9000/",
    "a private address": "http://192.168.1.1/",
    "the cloud metadata address": "http://169.254.169.254/latest/meta-data/",
    "the loopback address mapped to IPv6 (::ffff:127.0.0.1)": "http://[::ffff:127.0.0.1]:9000/",
  });

  refuses(development, "must not use a local or private host name", {
    "a host name under .local": "http://printer.local/",
    "a host name under .internal": "http://metadata.google.internal/",
  });

  refuses(development, "must not have an empty label in the host name", {
    "two dots at the end of the host name": "http://localhost..:9000/",
    "a leading dot": "http://.localhost:9000/",
  });
});

describe("checkCallbackUrl with another host for links to outputs", () => {
  const apart = { ...production, outputsOrigin: "https://outputs.example.net" };
  refuses(apart, "must not point at the relay itself", {
    "the relay's origin, beside another for outputs": "https://relay.example.com/v1/events",
    "the origin of links to outputs": "https://outputs.example.net/outputs/1",
    "another port of the host of links to outputs": "https://outputs.example.net:8443/",
  });
  accepts(apart, ", beside the host of links to outputs", {
    "a host of the same domain": "https://client.example.net/callback",
  });
});

describe("checkCallbackUrl with a greater length", () => {
  const long = { ...production, maxChars: 4_000 };
  accepts(long, "", { "4000 characters": pathOf("https://example.com/", 4_000) });
  refuses(long, "must be at most 4000 characters long, also when normalised", {
    "4001 characters": pathOf("https://example.com/", 4_001),
  });
});
