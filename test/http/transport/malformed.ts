/** Bytes that are not a valid request, and the expected error message. */
export interface Malformed {
  /** Completes the title "returns 400 for ...". */
  readonly name: string;
  /** Latin-1: each character is one byte. */
  readonly bytes: (secret: string) => string;
  readonly says: RegExp;
  /** Whether the client half-closes the connection after the last byte. */
  readonly ends?: boolean;
}

const notHttp = /not valid HTTP/;
const tooLarge = /headers are too large/;
const otherCoding = /Transfer-Encoding must be chunked or absent.*Content-Encoding: gzip/;
const json = 'Host: test\r\nContent-Type: application/json\r\n';

/** A valid call but for `lines`. */
const score =
  (lines: string, body = '') =>
  (secret: string): string =>
    `POST /v1/score HTTP/1.1\r\n${json}Authorization: Bearer ${secret}\r\n${lines}\r\n${body}`;
const bytes = (text: string) => () => text;
const usage = (target: string, headers = 'Host: test\r\n') => bytes(`GET ${target} HTTP/1.1\r\n${headers}\r\n`);

const rows: [string, Malformed['bytes'], RegExp][] = [
  [
    'Content-Length with Transfer-Encoding',
    score('Content-Length: 3\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'),
    /not valid HTTP: .*(Transfer-Encoding.*Content-Length|Content-Length.*Transfer-Encoding)/,
  ],
  ['two different Content-Lengths', score('Content-Length: 2\r\nContent-Length: 3\r\n', '{} '), notHttp],
  ['a negative Content-Length', score('Content-Length: -1\r\n'), /not valid HTTP: .*Content-Length\.$/],
  ['a Content-Length with a sign', score('Content-Length: +2\r\n', '{}'), notHttp],
  ['a hexadecimal Content-Length', score('Content-Length: 0x2\r\n', '{}'), notHttp],
  ['a Content-Length of 30 digits', score(`Content-Length: ${'9'.repeat(30)}\r\n`), notHttp],
  ['an unknown Transfer-Encoding', score('Transfer-Encoding: gzip\r\n', 'x'), notHttp],
  ['chunked before another Transfer-Encoding', score('Transfer-Encoding: chunked, gzip\r\n', '0\r\n\r\n'), notHttp],
  ['a chunk without a size', score('Transfer-Encoding: chunked\r\n', 'zz\r\n'), notHttp],
  ['a chunk of 30 digits', score('Transfer-Encoding: chunked\r\n', `${'f'.repeat(30)}\r\n`), notHttp],
  ['a chunk longer than its size', score('Transfer-Encoding: chunked\r\n', '2\r\n{}{}\r\n0\r\n\r\n'), notHttp],
  [
    'chunk extensions of 20 kB',
    score('Transfer-Encoding: chunked\r\n', `2;${'e'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`),
    notHttp,
  ],
  [
    'a trailer of 20 kB',
    score('Transfer-Encoding: chunked\r\n', `2\r\n{}\r\n0\r\nX: ${'t'.repeat(20_000)}\r\n\r\n`),
    tooLarge,
  ],
  ['a header of 20 kB', score(`X-Large: ${'x'.repeat(20_000)}\r\n`), tooLarge],
  ['a thousand headers of 20 kB together', score('X-Small: 0123456789\r\n'.repeat(1_000)), tooLarge],
  ['an address of 20 kB', usage(`/v1/usage?${'q'.repeat(20_000)}`), tooLarge],
  ['a header without a colon', score('no colon\r\n'), notHttp],
  ['a header without a name', score(': value\r\n'), notHttp],
  ['a space before the colon', score('X-Spaced : value\r\n'), notHttp],
  ['a folded header', score('X-Folded: a\r\n b\r\n'), notHttp],
  ['NUL in a header', score('X-Nul: a\0b\r\n'), notHttp],
  ['a bare line feed', bytes('GET /v1/usage HTTP/1.1\nHost: test\n\n'), notHttp],
  ['a carriage return within a header', score('X-Return: a\rb\r\n'), notHttp],
  ['an unknown method', bytes(`BREW /v1/score HTTP/1.1\r\n${json}\r\n`), notHttp],
  ['a method in lower case', bytes(`post /v1/score HTTP/1.1\r\n${json}\r\n`), notHttp],
  ['an address with a space', usage('/v1/us age'), notHttp],
  ['an address with a byte above ASCII', usage('/v1/scores/caf\xe9'), /not valid HTTP: .* in url path\.$/],
  ['an HTTP/0.9 request', bytes('GET /v1/usage\r\n\r\n'), /one Host header/],
  ['an HTTP/2 preface', bytes('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), /HTTP\/2 is not served here/],
  ['an HTTP/1.9 request', bytes(`GET /v1/usage HTTP/1.9\r\n${json}\r\n`), notHttp],
  ['a TLS handshake', bytes('\x16\x03\x01\0\xa5\x01\0\0\xa1\x03\x03'), notHttp],
  ['an SMTP greeting', bytes('EHLO example.org\r\n'), notHttp],
  ['zero bytes', bytes('\0'.repeat(4_096)), notHttp],
  ['a missing Host header', usage('/v1/usage', ''), /one Host header/],
  ['two Host headers', usage('/v1/usage', 'Host: a\r\nHost: b\r\n'), /one Host header/],
  ['a broken absolute address', usage('http://['), /address in the request line is not valid/],
  ['an absolute address with an invalid port', usage('http://test:99999/v1/usage'), /address in the request line/],
  [
    'Transfer-Encoding: gzip, chunked',
    score('Transfer-Encoding: gzip, chunked\r\n', '2\r\n{}\r\n0\r\n\r\n'),
    otherCoding,
  ],
  [
    'gzip and chunked in two Transfer-Encoding headers',
    score('Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n', '2\r\n{}\r\n0\r\n\r\n'),
    otherCoding,
  ],
  ['a CONNECT request', bytes('CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n'), /CONNECT/],
];

const cutOff: [string, Malformed['bytes'], RegExp][] = [
  ['an end of input in the request line', bytes('POST /v1/sc'), notHttp],
  ['an end of input in the headers', bytes('POST /v1/score HTTP/1.1\r\nHost: te'), notHttp],
  ['an end of input in the body', score('Content-Length: 100\r\n', '{"model_id":'), notHttp],
  ['an end of input in a chunk', score('Transfer-Encoding: chunked\r\n', '64\r\n{"model_id":'), notHttp],
];

export const malformed: readonly Malformed[] = [
  ...rows.map(([name, of, says]) => ({ name, bytes: of, says })),
  ...cutOff.map(([name, of, says]) => ({ name, bytes: of, says, ends: true })),
];
